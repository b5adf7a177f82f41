"""What a fitted machine tells about itself, as plain data."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pliant._version import __version__

__all__ = ["functions", "largest_gap", "last_step", "plain_parameters", "support_count", "versions"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def last_step(model: Any) -> Any:
    """Return a model, or the last step of a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def functions(machine: Any, feature_names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the facts of each real function that a machine learned.

    Each has ``n_support`` and ``n_iter``. One with a certificate has ``objective``, ``gap``
    (absolute), ``relative_gap`` (in the units of its ``tol``), and ``eta`` or ``rank`` if it has
    them; with more than two classes there is one for each pair, with the ``classes`` that it tells
    apart. A mean of members has ``members``, the ``held_out_score`` that they reached, and the
    ``relevance`` of each feature, if they have names.
    """
    if hasattr(machine, "members_"):
        return [_mean(machine, feature_names)]
    parts = getattr(machine, "estimators_", None)
    if parts is None:
        return [_function(machine)]
    pairs = combinations(machine.classes_.tolist(), 2)
    return [
        {"classes": list(pair), **_function(part)} for pair, part in zip(pairs, parts, strict=True)
    ]


def _function(machine: Any) -> dict[str, Any]:
    own = {"eta": "eta_", "rank": "rank_"}
    return {
        "n_support": len(machine.support_),
        "objective": float(machine.objective_),
        "gap": float(machine.dual_gap_),
        "relative_gap": float(machine.relative_gap_),
        **{name: getattr(machine, its) for name, its in own.items() if hasattr(machine, its)},
        "n_iter": int(machine.n_iter_),
    }


def _mean(machine: Any, feature_names: Sequence[str]) -> dict[str, Any]:
    """Return the facts of a mean of members."""
    averaged = machine.averaged_
    known: dict[str, Any] = {
        "n_support": len(machine.support_),
        "members": int(averaged.sum()),
        "held_out_score": float(machine.validation_score_[averaged].mean()),
        "n_iter": int(machine.n_iter_),
    }
    if feature_names:
        shares = machine.feature_relevance_.tolist()
        known["relevance"] = dict(zip(feature_names, shares, strict=True))
    return known


def largest_gap(machine: Any) -> float:
    """Return the largest relative gap of its functions; nan if one has no certificate."""
    gaps = [part["relative_gap"] for part in functions(machine)]
    return math.nan if any(math.isnan(gap) for gap in gaps) else max(gaps)


def support_count(machine: Any) -> int:
    """Return how many training rows have a coefficient in at least one function."""
    parts = getattr(machine, "estimators_", [machine])
    return int(np.unique(np.concatenate([part.support_ for part in parts])).size)


def plain_parameters(machine: Any) -> dict[str, Any]:
    """Return its hyper-parameters; what is no plain value as text."""
    plain = (str, int, float, bool, type(None), Mapping)
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in machine.get_params(deep=False).items()
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide a result."""
    found = {package: version(package) for package in PACKAGES}
    return {"pliant": __version__, "python": platform.python_version(), **found}
