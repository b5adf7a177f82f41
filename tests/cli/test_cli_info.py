"""``pliant info`` and ``pliant methods``."""

import pytest

from pliant._version import __version__


def lines(out):
    """Return the name of each fact, and the first line of its text."""
    return {line[:16].rstrip(): line[16:] for line in out.splitlines() if line[0] != " "}


@pytest.mark.parametrize("target", ["sick", "grade", "amount"])
def test_info(pliant, folder, models, target):
    done = pliant("info", models[target])
    assert done.code == 0
    assert done.err == ""
    assert max(map(len, done.out.splitlines())) < 80
    shown = lines(done.out)
    assert shown["method"].startswith("dank: ")
    assert shown["target"].startswith(f"'{target}', ")
    assert shown["columns"] == "2 numeric, 1 categorical: 'age', 'dose', 'colour'"
    assert shown["training rows"] == "60"
    assert shown["support points"].endswith(" training rows")
    assert "C=1" in shown["parameters"]
    assert "(3 folds)" in " ".join(done.out.split())
    assert shown["versions"].startswith(f"pliant {__version__}, python ")
    assert shown["saved by"] == f"pliant {__version__}"


def test_methods_have_their_grids_and_sources(pliant):
    shown = " ".join(pliant("methods").out.split())
    assert "grid none: fitted with the defaults paper He, He," in shown
    assert "0.25, 1, 4} / number of features package scikit-learn" in shown
    assert "grid none: fitted with the defaults package scikit-learn" in shown
