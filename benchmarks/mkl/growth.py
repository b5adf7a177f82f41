"""How the time and the memory of MKLClassifier grow with rows and kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Case, Contestant, Params, Prepared
from pliant.core.typing import Array

ROWS = (250, 500, 1000, 2000)
KERNELS = (10, 25, 50, 100, 200, 400)

FEW_FEATURES, MANY_FEATURES = 3, 30
"""Of the problems with more and more rows, 52 kernels, and with more and more kernels, 403."""

MIDDLE = 500
"""Rows where the number of kernels grows."""

LARGE = {"rows": 1000, "kernels": 400, "features": MANY_FEATURES}
"""The problem whose memory has a bound: 2.5 GB in a minute."""

SMALL = {"rows": 60, "kernels": 13, "features": 2}


def cases(has_data: bool) -> list[Case]:
    """Return problems with more rows, with more kernels, and the large one."""
    contestant = Contestant("pliant", prepare)
    rows = [{"rows": n, "kernels": 52, "features": FEW_FEATURES} for n in ROWS]
    kernels = [{"rows": MIDDLE, "kernels": m, "features": MANY_FEATURES} for m in KERNELS]
    return [
        Case(f"{each['rows']} rows, {each['kernels']} kernels", [contestant], each, SMALL)
        for each in [*rows, *kernels, LARGE]
    ]


def problem(rows: int, features: int) -> tuple[Array, Array]:
    """Return generated points, and labels that three of the features decide."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    value = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=rows)
    return X, np.where(value > 0.0, 1, -1)


def prepare(params: Params) -> Prepared:
    """Prepare a fit with an even share of the default kernels."""
    from pliant import MKLClassifier
    from pliant.methods.mkl.candidates import default_kernels

    X, y = problem(params["rows"], params["features"])
    every = default_kernels(X)
    count = min(params["kernels"], len(every))
    kernels = [every[m] for m in np.linspace(0, len(every) - 1, count).astype(int)]
    return fitting(MKLClassifier(kernels, n_jobs=1), X, y, describe=described)


def described(model: Any) -> dict[str, Any]:
    """Return the gap, the number of kernels with weight, and the memory of the process."""
    return {
        "steps": int(model.n_iter_),
        "relative gap": float(model.relative_gap_),
        "kernels with weight": int((model.weights_ > 0.0).sum()),
        **whole_process("GiB"),
    }
