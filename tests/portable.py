"""Run the numerical tests with the BLAS kernels of other processors.

    python -m tests.portable Nehalem Haswell

OpenBLAS, which is part of the wheels of NumPy and SciPy, has kernels for each kind of processor.
They add in different orders, so the last digits of all results differ, and so may the outcomes of
tests. Core types that this processor cannot execute are skipped by name.
"""

import json
import os
import platform
import subprocess
import sys

from numpy._core._multiarray_umath import __cpu_features__ as features

NEEDED = {
    "Nehalem": ("X86_V2", "SSE42"),
    "Haswell": ("X86_V3", "AVX2"),
    "Zen": ("X86_V3", "AVX2"),
    "SkylakeX": ("X86_V4", "AVX512_SKX"),
}
"""Core types of OpenBLAS, with NumPy's names of their instructions."""

SAME = {"Zen": "Haswell"}
"""Core types that share the kernels, and report the name, of another one."""

TESTS = [
    "tests/core/test_linalg.py",
    "tests/docs/test_readme_and_pages.py",
    "tests/methods/dank/test_eigenpairs.py",
    "tests/methods/dank/test_problem.py",
    "tests/methods/dank/test_sequential.py",
    "tests/methods/lab_rbf/test_objective.py",
    "tests/methods/supervised/test_bregman.py",
    "tests/methods/supervised/test_order_spectral.py",
    "tests/methods/svm/test_projections.py",
    "tests/methods/svm/test_smo.py",
    "tests/methods/tkl/test_solvers.py",
    "tests/methods/tkl/test_tkl.py",
    "tests/papers/test_dank_scale_theorems.py",
    "tests/papers/test_reference_twins.py",
    "tests/papers/test_scg_theorems.py",
]
"""Tests that compare results with other solvers, with more digits, or with printed numbers."""

KINDS = (
    "import json, numpy, scipy.linalg, threadpoolctl; "
    "print(json.dumps([each.get('architecture') for each in threadpoolctl.threadpool_info()]))"
)


def obstacle(core: str, machine: str, features: dict[str, bool]) -> str | None:
    """Return the reason why this processor cannot run a core type, or None."""
    if machine.lower() not in ("x86_64", "amd64"):
        return f"this processor is {machine}, not x86-64"
    if not any(features.get(name) for name in NEEDED[core]):
        return f"this processor lacks {NEEDED[core][-1]}"
    return None


def environment(core: str) -> dict[str, str]:
    return {**os.environ, "OPENBLAS_CORETYPE": core, "OMP_NUM_THREADS": "1"}


def takes_effect(core: str) -> bool:
    """Return True if NumPy's and SciPy's BLAS are OpenBLAS with kernels of this core type."""
    done = subprocess.run(
        [sys.executable, "-c", KINDS], env=environment(core), stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout).count(SAME.get(core, core)) == 2


def run(core: str, options: list[str]) -> int:
    """Run the tests with a core type's kernels; return pytest's exit code."""
    reason = obstacle(core, platform.machine(), features)
    if reason is None and not takes_effect(core):
        reason = "NumPy and SciPy are not built with OpenBLAS for several processors"
    if reason is not None:
        print(f"Skipped: numerical tests with the BLAS kernels of {core}: {reason}")
        return 0
    print(f"Numerical tests with the BLAS kernels of {core}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", *options, *TESTS]
    return subprocess.run(command, env=environment(core), check=False).returncode


def main(words: list[str]) -> int:
    """Run the core types among the words, with the other words as options of pytest."""
    cores = [word for word in words if word in NEEDED]
    if not cores:
        print(f"expected core types among {', '.join(NEEDED)}, got {words}", file=sys.stderr)
        return 2
    options = [word for word in words if word not in NEEDED]
    return max(run(core, options) for core in cores)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
