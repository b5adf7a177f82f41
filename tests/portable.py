"""Run the tests as other processors would compute them.

    python -m tests.portable                        # ten runs of all tests
    python -m tests.portable --runs 1 tests/methods

Each run has another seed of ``--rounding`` (see `tests.rounding`), and the instructions of another
processor in one of three libraries: the kernels of OpenBLAS, which is part of the wheels of NumPy
and SciPy, add in different orders; so do NumPy's own loops; numba compiles for the processor. The
runs take turns with what this processor can execute.
"""

import json
import os
import subprocess
import sys
import time

from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched
from numpy._core._multiarray_umath import __cpu_features__ as features

CORES = ("Nehalem", "Haswell", "Sandybridge", "Prescott", "SkylakeX")
"""Core types of OpenBLAS with different kernels; Zen, for one, has those of Haswell."""

RUNS = 10

KERNELS = (
    "import json, numpy, scipy.linalg, threadpoolctl; "
    "print(json.dumps([each.get('architecture') for each in threadpoolctl.threadpool_info()]))"
)


def kernels(core: str | None) -> set[str]:
    """Return the kernels that NumPy's and SciPy's OpenBLAS choose, with a core type or without."""
    environment = {**os.environ, **({"OPENBLAS_CORETYPE": core} if core else {})}
    done = subprocess.run(
        [sys.executable, "-c", KERNELS], env=environment, stdout=subprocess.PIPE, check=True
    )
    return set(json.loads(done.stdout)) - {None}


def loops() -> str:
    """Return the features of this processor for which NumPy has loops of its own."""
    return " ".join(name for name in dispatched if features.get(name))


def processors() -> dict[str, dict[str, str]]:
    """Return a name and environment variables for each way to compute on this processor."""
    found = {"numba for any processor": {"NUMBA_CPU_NAME": "generic"}}
    if loops():
        found["NumPy without " + loops()] = {"NPY_DISABLE_CPU_FEATURES": loops()}
    seen = [kernels(None)]
    for core in CORES:
        chosen = kernels(core)
        if chosen not in seen:  # otherwise OpenBLAS has no such kernels, or not for this processor
            seen.append(chosen)
            found[f"OpenBLAS for {core}"] = {"OPENBLAS_CORETYPE": core}
    return found


def run(variables: dict[str, str], seed: int, options: list[str]) -> tuple[int, str]:
    """Run pytest; show its output; return its exit code and its last line."""
    command = [sys.executable, "-m", "pytest", "-q", "--rounding", str(seed), *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    last = ""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return process.returncode, last


def main(words: list[str]) -> int:
    """Run the tests, with the words as options of pytest; print a table of the runs."""
    runs = RUNS
    if words[:1] == ["--runs"]:
        runs, words = int(words[1]), words[2:]
    ways, rows, codes = list(processors().items()), [], []
    for seed in range(1, runs + 1):
        name, variables = ways[-seed % len(ways)]
        print(f"Tests with {name}, rounding seed {seed}", flush=True)
        started = time.monotonic()
        code, last = run(variables, seed, words)
        codes.append(code)
        rows.append(f"{seed:4}  {time.monotonic() - started:7.0f} s  {name}: {last}")
    print("\nseed       time  processor: outcome", *rows, sep="\n")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
