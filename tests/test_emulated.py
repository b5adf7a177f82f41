"""Refusals of the tests on another architecture, and their list."""

import re

import pytest

from tests.emulated import ROOT, TESTS, lacking, main, requirements


def test_what_a_computer_lacks_is_named_in_one_sentence(capsys, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: name if name == "apt-get" else None)
    assert main(["aarch64", "--quiet"]) == 1
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "dpkg-deb, qemu-aarch64-static, of Debian's dpkg, qemu-user-static" in shown
    monkeypatch.setattr("shutil.which", lambda name: name)
    assert lacking("aarch64") is None


@pytest.mark.parametrize("words", [[], ["riscv64"]])
def test_other_architectures_are_refused(words, capsys):
    assert main(words) == 2
    assert "expected an architecture among aarch64" in capsys.readouterr().err


def test_its_tests_and_their_requirements_are_there():
    assert [name for name in TESTS if not (ROOT / name).exists()] == []
    names = {re.split("[^a-z-]", each)[0] for each in requirements()}
    assert {"numpy", "numba", "pytest", "distributed", "pandas"} <= names
