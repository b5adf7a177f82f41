"""Three kills of each kind; ``make fuzz`` has fifty."""

import os

import pytest

from tests.fuzz.kills import KINDS, survived


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_kills_are_survived(kind, tmp_path):
    assert survived(kind, 3, 0, tmp_path) == []
