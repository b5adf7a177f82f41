"""Detection of the OpenBLAS core types that a processor can execute."""

from pathlib import Path

import pytest

from tests import portable
from tests.portable import TESTS, main, obstacle
from tests.portable import __file__ as here

OLD = {"SSE42": True, "AVX2": True, "AVX512_SKX": False}
NEW = {"X86_V2": True, "X86_V3": True, "X86_V4": False}


@pytest.mark.parametrize("features", [OLD, NEW])
def test_what_a_processor_lacks_is_named(features):
    assert obstacle("SkylakeX", "x86_64", features) == "this processor lacks AVX512_SKX"
    for core in ("Nehalem", "Haswell", "Zen"):
        assert obstacle(core, "AMD64", features) is None


def test_a_skip_is_named_and_no_failure(capsys, monkeypatch):
    monkeypatch.setattr(portable, "features", {"X86_V3": True})
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert main(["SkylakeX", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "BLAS kernels of SkylakeX: this processor lacks AVX512_SKX" in shown


def test_its_tests_are_there():
    root = Path(here).parents[1]
    assert [name for name in TESTS if not (root / name).is_file()] == []
