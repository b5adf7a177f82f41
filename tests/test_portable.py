"""Disturbed numbers, and the ways to compute on this processor."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests import portable
from tests.rounding import disturb, factor_of

FACTOR = factor_of(1)
NUMBERS = np.random.default_rng(0).normal(size=(40, 30)) * np.logspace(-200, 200, 30)

PROBE = """
import os
import numba, numpy as np, sklearn.utils
for seed in (1, 1, 2):
    if os.fork() == 0:
        from tests.rounding import install
        install(seed)
        from pliant.kernels import Gaussian
        X = np.random.default_rng(0).normal(size=(50, 3))
        print(X[0, 0].hex(), Gaussian()(X)[0, 1].hex(), flush=True)
        os._exit(0)
    os.wait()
"""
"""Draw points and kernel values three times, each with a seed."""


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_points_and_kernel_values_are_disturbed():
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = [line.split() for line in done.stdout.splitlines()]
    assert shown[0] == shown[1]
    assert shown[0][0] != shown[2][0]
    assert shown[0][1] != shown[2][1]


def test_a_processor_has_several_ways_to_compute():
    ways = portable.processors()
    assert ways["numba for any processor"] == {"NUMBA_CPU_NAME": "generic"}
    assert len({str(variables) for variables in ways.values()}) == len(ways)


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
