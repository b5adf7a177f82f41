"""Run the comparison over tables: python -m benchmarks.tables --data FOLDER --out FILE ..."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def main() -> None:
    """Run what the arguments name."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # before NumPy: peers hold no thread limits of their own
    from benchmarks.tables.contestants import CONTESTANTS, ONLY
    from benchmarks.tables.running import TABLES, Cell, run_all, task_of

    parser = argparse.ArgumentParser(description="Fit contestants on splits of many tables.")
    parser.add_argument("--data", type=Path, default=os.environ.get("PLIANT_DATA"))
    parser.add_argument("--out", type=Path, required=True, help="file of results; it grows")
    parser.add_argument("--contestants", required=True, help=f"out of {', '.join(CONTESTANTS)}")
    parser.add_argument("--label", help="name in the results of the one contestant")
    parser.add_argument("--seeds", default="100:105", help="first:end")
    parser.add_argument("--tables", help="names, or regression, classification, choice, report")
    given = parser.parse_args()
    if given.data is None:
        parser.error("expected --data FOLDER, or the variable PLIANT_DATA")
    first, end = (int(part) for part in given.seeds.split(":"))
    wanted = set((given.tables or "").split(",")) - {""}
    names = [
        table
        for task, halves in TABLES.items()
        for half, tables in halves.items()
        for table in tables
        if not wanted or wanted & {task, half, table, f"{task}-{half}"}
    ]
    chosen = given.contestants.split(",")
    if given.label and len(chosen) > 1:
        parser.error(f"expected one contestant with --label, got {given.contestants!r}")
    cells = (
        (Cell(given.label or contestant, table, seed), contestant)
        for seed in range(first, end)
        for contestant in chosen
        for table in names
        if ONLY.get(contestant, task_of(table)) == task_of(table)
    )
    run_all(cells, given.out, Path(given.data))


main()
