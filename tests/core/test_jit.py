"""Compiled loops: the same numbers as the Python they are written in, a word when it compiles."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from pliant.core import jit
from pliant.methods.svm.rows import dense
from pliant.methods.tessellated import tessellated_kernel as _tessellation

GRAM = np.random.default_rng(0).uniform(size=(6, 6))
WEIGHTS = np.array([1.5, -2.0, 0.25])
USED = np.array([0, 3, 5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_part_of_a_gram_is_what_its_python_says(dtype):
    gram = GRAM.astype(dtype)
    compiled, written = dense.part(gram, USED, USED), dense.part.py_func(gram, USED, USED)
    assert compiled.dtype == written.dtype == dtype
    np.testing.assert_array_equal(compiled, written)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("loop", "weights"),
    [(dense.add_rows, [WEIGHTS]), (dense.add_both, [WEIGHTS, WEIGHTS**2])],
    ids=["add_rows", "add_both"],
)
def test_sums_over_a_gram_are_what_their_python_says(loop, weights, dtype):
    compiled, written = np.ones((len(weights), 6)), np.ones((len(weights), 6))
    loop(*compiled, GRAM.astype(dtype), USED, *weights)
    loop.py_func(*written, GRAM.astype(dtype), USED, *weights)
    np.testing.assert_allclose(compiled, written, rtol=1e-6)
    assert (compiled != 1.0).all()


def test_overlaps_of_boxes_are_what_their_python_says():
    upper, inverse = np.full(3, 1.5), np.full(3, 0.5)
    arguments = (GRAM[:, :3].copy(), np.ascontiguousarray(GRAM[:4, 3:].T), upper, inverse)
    tile = _tessellation.overlap(*arguments)
    expected = np.prod((1.5 - np.maximum(GRAM[:, None, :3], GRAM[None, :4, 3:])) * 0.5, axis=2)
    np.testing.assert_allclose(tile, expected, rtol=1e-14)


def test_loops_are_compiled_without_the_lock_and_in_the_written_order():
    options = dense.add_rows.targetoptions
    assert options["nogil"]
    assert not options["fastmath"]


SESSION = """
import logging, sys
import numba, numpy as np
from pliant.methods.svm.rows import DenseRows

logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(name)s: %(message)s")

@numba.njit
def somebody_elses(x):
    return x + 1

somebody_elses(1)
print("ready")
rows = DenseRows(np.eye(3))
print(rows.matvec(np.ones(3)).tolist(), rows.both_matvecs(np.ones(3), np.ones(3))[1].tolist())
"""


def run_session(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", SESSION], env=environment, capture_output=True, text=True, check=True
    )


def test_the_first_compilation_on_a_machine_is_announced_once(tmp_path):
    first, second = run_session(tmp_path), run_session(tmp_path)
    said = "WARNING pliant: pliant is compiling its inner loops: some seconds, once per computer"
    ready, results = "ready", "[1.0, 1.0, 1.0] [1.0, 1.0, 1.0]"
    assert first.stdout.splitlines() == [ready, said, results]
    assert second.stdout.splitlines() == [ready, results]
    assert first.stderr == second.stderr == ""
    assert list(tmp_path.rglob("*.nbi"))


def test_where_no_cache_can_be_written_the_loop_lives_in_memory(monkeypatch):
    asked = []
    njit = numba.njit

    def without_cache(**options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'double': no locator available for file")
        return njit(**options)

    def double(x):
        return 2 * x

    monkeypatch.setattr(numba, "njit", without_cache)
    compiled = jit.compiled(double)
    assert [options.pop("cache", False) for options in asked] == [True, False]
    assert asked[0] == asked[1]
    assert compiled(21) == 42
    assert compiled.py_func is double


def test_a_loop_is_cached_where_a_cache_can_be_written():
    assert dense.add_rows._cache.cache_path
