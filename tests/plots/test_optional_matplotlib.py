"""matplotlib, which is imported when something is drawn, is named when it is missing."""

import sys

import pytest

from pliant.plots import ConvergenceDisplay


def test_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = ConvergenceDisplay([0, 1], [1.0, 0.1])
    with pytest.raises(
        ImportError, match=r"drawing needs matplotlib: pip install 'pliant\[plots\]'"
    ):
        display.plot()
