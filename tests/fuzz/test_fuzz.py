"""A few cases of ``make fuzz``."""

import pytest

from tests.fuzz.campaign import outcome


@pytest.mark.parametrize("seed", range(10))
def test_names_are_text_wherever_they_are_shown(seed):
    assert outcome("names", seed) is None


@pytest.mark.parametrize("seed", range(30))
def test_modified_model_files_are_one_error_or_load(seed):
    assert outcome("model_files", seed) is None


@pytest.mark.parametrize("seed", range(30))
def test_numbers_of_foreign_tables_are_read_or_refused(seed):
    assert outcome("foreign", seed) is None
