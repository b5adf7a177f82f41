"""matplotlib is imported when something is drawn, and named when it is missing."""

import subprocess
import sys

import pytest

from pliant.plots import ConvergenceDisplay


def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, pliant.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = ConvergenceDisplay([0, 1], [1.0, 0.1])
    with pytest.raises(
        ImportError, match=r"drawing needs matplotlib: pip install 'pliant\[plots\]'"
    ):
        display.plot()
