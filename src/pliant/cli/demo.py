"""``pliant demo``: the main job on a real table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from pliant.cli.console import tell
from pliant.cli.outputs import check_outputs
from pliant.cli.parameters import whole
from pliant.cli.report import facts, number, paragraph, program, word
from pliant.cli.study import TARGET, Study, compare, write_table
from pliant.core.exceptions import TableError
from pliant.core.files import printable, quoted
from pliant.persistence import save_model
from pliant.tables import write_predictions

FILES = {
    "breast_cancer.csv": "the table",
    "dank.pliant": "the model, learned from all rows",
    "predictions.csv": "predictions of both methods for each row, from the other folds",
    "picture.png": "boundary, adaptive matrix, convergence",
}
"""The files that the demo writes."""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")] = Path(
        "demo-output"
    ),
    cv: Annotated[
        int, typer.Option(parser=whole(2, 50), metavar="K", help="Folds to test on, 2 to 50.")
    ] = 10,
    seed: Annotated[
        int,
        typer.Option(parser=whole(0, 2**32 - 1), metavar="N", help="Decides who is in which fold."),
    ] = 0,
) -> None:
    """Learn from a real table, test against a tuned SVM, save and draw the model.

    The table is scikit-learn's breast cancer data. It takes about half a minute.
    """
    paths = _paths(out)
    check_outputs(paths)
    table, model, predictions, picture = paths
    write_table(table)
    study = compare(table, cv, seed)
    save_model(study.model, model, schema=study.data.schema.to_dict(), metadata=study.notes())
    write_predictions(predictions, [study.predictions()])
    drawn = _draw(picture, study)
    print(_report(study, cv, paths if drawn else paths[:-1]))


def _paths(folder: Path) -> list[Path]:
    """Return the files to write, in a folder that is made if there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TableError(
            f"cannot make the folder {quoted(folder, 200)}: {error.strerror}"
        ) from None
    return [folder / name for name in FILES]


def _draw(path: Path, study: Study) -> bool:
    """Draw the picture; without matplotlib, print a note instead."""
    try:
        from pliant.cli.picture import draw

        draw(path, study.model, study.data.X, study.data.y)
    except ImportError as error:
        tell(f"Note: no picture: {error}")
        return False
    return True


def _report(study: Study, cv: int, paths: list[Path]) -> str:
    """Return the result, the files written, and what to try next."""
    n, d = study.data.X.shape
    fitted = study.model[-1]
    change = fitted.adaptation_.columns(fitted.support_) - 1.0
    blocks = [
        f"Breast cancer: {TARGET} (benign or malignant) of {n} rows from {d} features.\n"
        f"Tested in {cv} folds; C and gamma chosen in each by a search on\n"
        "inner folds of its own.",
        study.table().rstrip(),
        paragraph(study.verdict()),
        paragraph(
            "Relative gap: how far the objective is at most from the optimum, relative to "
            f"1 + |objective|. Learned from all rows, DANK has C = {number(fitted.C)}, gamma = "
            f"{number(fitted.gamma)} and {len(fitted.support_)} support points; its adaptive "
            f"matrix F changes entries of the kernel by up to {np.abs(change).max():.1%}."
        ),
        facts((printable(path, 200), FILES[path.name]) for path in paths),
        "Next:\n" + _next(*paths[:2]),
    ]
    return "\n\n".join(blocks)


def _next(table: Path, model: Path) -> str:
    """Return commands to go on with."""
    me, there, it = program(), word(table), word(model)
    return (
        f"  {me} info {it}\n"
        f"  {me} predict {it} {there}\n"
        f"  {me} fit {there} --target {TARGET} --tune --param eta_scale=0.1\n"
        f"  {me} fit YOUR_TABLE.csv --target COLUMN --tune --out model.pliant"
    )
