"""Disturbed numbers, and the ways to compute on this processor."""

import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from pliant.kernels import Gaussian
from tests import portable
from tests.rounding import disturb, factor_of

FACTOR = factor_of(1)
NUMBERS = np.random.default_rng(0).normal(size=(40, 30)) * np.logspace(-200, 200, 30)

PROBE = """
import sys
from tests.rounding import install
install(1)
import numpy as np
from pliant.kernels import Gaussian
X = np.random.default_rng(0).normal(size=(50, 3))
sys.stdout.buffer.write(X.tobytes() + Gaussian()(X).tobytes())
"""
"""Draw points, and write them and their kernel values."""


def test_numbers_change_in_their_last_bits():
    changed = disturb(NUMBERS.copy(), FACTOR)
    assert 0.8 < (changed != NUMBERS).mean() < 1  # one in eight has these bits already
    np.testing.assert_allclose(changed, NUMBERS, rtol=2.0**-49, atol=0)
    assert (disturb(NUMBERS.copy(), factor_of(2)) != changed).mean() > 0.8


@pytest.mark.parametrize(
    "order", [np.asarray, np.transpose, lambda a: a[::2, 1:], np.asfortranarray]
)
def test_equal_opposite_and_disturbed_numbers(order):
    values = order(NUMBERS.copy())
    changed = disturb(values.copy(), FACTOR)
    np.testing.assert_array_equal(disturb(-values, FACTOR), -changed)
    np.testing.assert_array_equal(disturb(changed.copy(), FACTOR), changed)
    one = [disturb(number, FACTOR) for number in values.ravel()]
    np.testing.assert_array_equal(np.reshape(one, values.shape), changed)


def test_exact_numbers_stay():
    exact = np.array([0.0, -0.0, 1.0, -3.0, 0.1875, 2.0**26 - 1, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(disturb(exact.copy(), FACTOR), exact)
    assert disturb("text", FACTOR) == "text"
    numbers = np.arange(3)
    assert disturb((numbers, 0.1), FACTOR)[0] is numbers
    assert disturb((numbers, 0.1), FACTOR)[1] != 0.1


@pytest.mark.processes
def test_points_and_kernel_values_are_disturbed():
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(command, capture_output=True, check=True)
    X = disturb(np.random.default_rng(0).normal(size=(50, 3)), FACTOR)
    assert done.stdout == X.tobytes() + disturb(Gaussian()(X), FACTOR).tobytes()


def test_a_processor_has_several_ways_to_compute(monkeypatch):
    """OpenBLAS has a core type without kernels of its own, and one that this processor lacks."""
    known = {"Nehalem": {"Nehalem"}, "Sandybridge": {"Sandybridge"}}
    monkeypatch.setattr(portable, "kernels", lambda core: known.get(core, {"Haswell"}))
    monkeypatch.setattr(portable, "loops", lambda: "AVX2 FMA3")
    assert portable.processors() == {
        "numba for any processor": {"NUMBA_CPU_NAME": "generic"},
        "NumPy without AVX2 FMA3": {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"},
        "OpenBLAS for Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
        "OpenBLAS for Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    }


def test_openblas_names_its_kernels():
    used = threadpool_info()
    assert portable.kernels(None) <= {each.get("architecture") for each in used}


def test_runs_take_turns_and_their_failures_count(monkeypatch, capsys):
    asked = []

    def run(variables, seed, options):
        asked.append((variables, seed, options))
        return int(seed == 2), f"{seed} passed"

    monkeypatch.setattr(portable, "run", run)
    monkeypatch.setattr(portable, "processors", lambda: {"one": {"A": "1"}, "two": {"A": "2"}})
    assert portable.main(["--runs", "3", "tests/kernels"]) == 1
    assert asked == [
        ({"A": str(k)}, seed, ["tests/kernels"]) for seed, k in enumerate((2, 1, 2), 1)
    ]
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert [row.split()[-2:] for row in rows] == [[str(k), "passed"] for k in (1, 2, 3)]
