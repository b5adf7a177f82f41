import pytest

from pliant.methods.svm.parts import Store
from tests.methods.svm.parts.store_cases import MADE, RESULT, part_file


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, MADE, limit=10.0)


@pytest.fixture
def saved(store):
    store.save("plain", 0, RESULT)
    return part_file(store.folder)
