"""Description of the computer and the software of a measurement."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

PACKAGES = (
    "pliant", "numpy", "scipy", "scikit-learn", "numba", "joblib", "pandas", "catboost", "lightgbm",
    "xgboost", "xrfm", "pytabkit", "torch",
)  # fmt: skip
"""Packages of which a record has the versions, if they are installed."""


def describe_machine() -> dict[str, Any]:
    """Return processor, cores, memory, system, Python, kernels of BLAS, and package versions."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "system": _system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "blas": sorted(
            {each["architecture"] for each in threadpool_info() if "architecture" in each}
        ),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def load_average() -> list[float] | None:
    """Return the 1, 5 and 15 minute load averages; None if they are unavailable."""
    try:
        return [round(load, 2) for load in os.getloadavg()]
    except (AttributeError, OSError):
        return None


def computer(report: Mapping[str, Any]) -> str:
    """Describe the computer, the packages, the date and the command of a report."""
    machine, load = report["machine"], report["load_average"]
    packages = ", ".join(f"{name} {v}" for name, v in machine["packages"].items() if v)
    blas = f"BLAS kernels {', '.join(machine['blas'])}, " if machine.get("blas") else ""
    command = f" Command: `{report['command']}`." if "command" in report else ""
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"{machine['python']}, {blas}{packages}; load average at the start "
        f"{'unknown' if load is None else load[0]}; {report['date']}.{command}"
    )


def now() -> str:
    """Return the current date and time in UTC."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8", errors="replace") if info.exists() else ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return model[1] if model else platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _system() -> str:
    release = re.match(r"\d+(\.\d+)?", platform.release())
    return f"{platform.system()} {release[0] if release else ''} {platform.machine()}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
