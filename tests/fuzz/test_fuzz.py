"""A few cases of ``make fuzz``: untrusted names cannot control a terminal or a page."""

import pytest

from tests.fuzz.campaign import outcome


@pytest.mark.parametrize("seed", range(20))
def test_names_are_text_wherever_they_are_shown(seed):
    assert outcome("names", seed) is None
