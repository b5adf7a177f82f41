"""Measure all contestants of a case, repeat by repeat, each time in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.spec import Case, Contestant

ROOT = Path(__file__).resolve().parents[2]
"""Root of the repository, from which processes import ``benchmarks``."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)

Measurement = dict[str, Any]
"""Repeat, position, contestant, and the worker's outcome."""


@dataclass(frozen=True)
class Settings:
    """Settings of the measurements."""

    repeats: int = 5
    threads: int = 1
    data: str | None = None
    """Folder of data sets, passed to workers as PLIANT_DATA."""
    timeout: float = 1800.0
    """Seconds after which a process is terminated."""

    def __post_init__(self) -> None:
        for name in ("repeats", "threads", "timeout"):
            if not getattr(self, name) > 0:
                raise ValueError(f"expected {name} > 0, got {getattr(self, name)}")


def measure_case(
    case: Case, settings: Settings, log: Callable[[str], None] = lambda line: None
) -> list[Measurement]:
    """Return a measurement for each repeat and contestant; `log` is called with a line after each.

    Contestants run in their order and, every other repeat, in reverse, so slow changes in the
    load of the computer affect all equally. A failure is an entry with ``error``; the
    other measurements continue.
    """
    measurements = []
    for repeat in range(settings.repeats):
        order = case.contestants if repeat % 2 == 0 else case.contestants[::-1]
        for position, contestant in enumerate(order):
            outcome = _spawn(contestant, case, settings)
            place = {"repeat": repeat, "position": position, "contestant": contestant.name}
            measurements.append({**place, **outcome})
            text = outcome.get("error") or f"{outcome['seconds']:.4g} s"
            log(f"{case.name} | {repeat + 1}/{settings.repeats} | {contestant.name}: {text}")
    return measurements


def _spawn(contestant: Contestant, case: Case, settings: Settings) -> Measurement:
    """Run the worker on one contestant and return its outcome or an error."""
    request = {
        "function": contestant.function,
        "params": {**case.params, **contestant.params},
        "warm_up": None if case.warm_up is None else {**case.warm_up, **contestant.params},
    }
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outcome.json"
        try:
            ended = subprocess.run(
                [sys.executable, "-m", "benchmarks.harness.worker", str(out)],
                input=json.dumps(request).encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd=ROOT,
                env=_environment(os.environ, settings),
                timeout=settings.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"not finished after {settings.timeout:g} s"}
        if not out.exists():
            return {"error": f"process ended with code {ended.returncode}: {_last(ended.stderr)}"}
        outcome: Measurement = json.loads(out.read_text(encoding="utf-8"))
        return outcome


def _environment(inherited: Mapping[str, str], settings: Settings) -> dict[str, str]:
    threads = dict.fromkeys(THREAD_VARIABLES, str(settings.threads))
    data = {} if settings.data is None else {"PLIANT_DATA": str(Path(settings.data).resolve())}
    return {**inherited, **threads, **data}


def _last(output: bytes) -> str:
    lines = output.decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "no message"
