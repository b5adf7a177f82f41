"""``pliant demo``: compare LAB-RBF with tuned methods on two tables."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from sklearn.datasets import load_breast_cancer, make_friedman1

from pliant.core.exceptions import TableError
from pliant.core.text import printable, quoted
from pliant.tables.cli.compare import Plan, parse_duration, race, results_as_text
from pliant.tables.cli.exit_codes import ExitCode
from pliant.tables.cli.options import Seed, option
from pliant.tables.cli.outputs import check_outputs, print_result
from pliant.tables.cli.report import quote_path
from pliant.tables.comparison.options import RunOptions
from pliant.tables.comparison.page import write_report
from pliant.tables.comparison.protocol import Protocol

METHODS = ("lab-rbf", "svm", "boosting", "forest")
ROWS = 500
"""Number of rows of the generated table."""


def demo(
    context: typer.Context,
    out: Annotated[Path, option("DIR", "Folder for the results.")] = Path("demo-output"),
    budget: Annotated[str, option("TIME", "Time for both tables, such as 90s or 2m.")] = "80s",
    seed: Seed = 0,
) -> None:
    """Compare LAB-RBF with a tuned SVM, boosting and a forest, and write a report.

    Both tables come from scikit-learn.
    """
    options = RunOptions(parse_duration(budget), command=context.obj)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TableError(f"cannot create folder {quoted(out, 200)}: {error.strerror}") from None
    tables = _make_tables()
    check_outputs([out / name for name in ("report.html", *tables)])
    with chdir(out):
        for name, frame in tables.items():
            frame.to_csv(name, index=False)
        protocol = Protocol(repeats=1, seed=seed)
        results = race(Plan(tuple(map(Path, tables)), "target", METHODS, protocol, options))
        write_report(results, "report.html")
    table = quote_path(out / next(iter(tables)))
    report = printable(out / "report.html", 200)
    model = quote_path(out / "model.pliant")
    print_result(
        f"{results_as_text(results)}\n\nOpen {report} in a browser. Next:\n"
        f"  pliant fit {table} --target target --out {model}\n"
        f"  pliant predict {model} {table} --interval 0.9\n"
        f"  pliant compare YOUR_TABLE.csv --target COLUMN --report report.html"
    )
    if results[-1].interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if all(result.best is None for result in results):
        raise ValueError("no method finished a fold: raise --budget")


def _make_tables() -> dict[str, pd.DataFrame]:
    """Return Friedman's first function with noise and the breast cancer data, by file name."""
    X, y = make_friedman1(n_samples=ROWS, noise=1.0, random_state=0)
    generated = pd.DataFrame(X, columns=[f"x{j}" for j in range(1, 11)]).assign(target=y)
    cancer = load_breast_cancer(as_frame=True)
    diagnosis = cancer.target_names[cancer.target]
    return {
        "friedman1.csv": generated.round(6),
        "breast_cancer.csv": cancer.data.assign(target=diagnosis),
    }
