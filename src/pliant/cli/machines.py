"""What a fitted machine tells about itself, as plain data."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import combinations
from typing import Any

from sklearn.base import BaseEstimator

from pliant._version import __version__
from pliant.kernels import PartitionedKernel

__all__ = [
    "functions",
    "learned_kernel",
    "plain_parameters",
    "settings",
    "versions",
]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def functions(machine: Any, feature_names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the facts of each real function that a machine learned.

    Each has ``n_support`` and ``n_iter``. One with a certificate has ``objective``, ``gap``
    (absolute), ``relative_gap`` (in the units of its ``tol``), and ``eta`` or ``rank`` if it has
    them; one that was learned in ``parts`` has their number, and its gap is theirs together. With
    more than two classes there is one for each pair, with the ``classes`` that it tells apart. A
    mean of members has ``members``, the ``held_out_score`` that they reached, and the
    ``relevance`` of each feature, if they have names. A machine on a learned kernel has those of
    its machine; see `learned_kernel`.
    """
    if hasattr(machine, "machine_"):
        return functions(machine.machine_)
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
    adapts = getattr(machine, "eta", None) != math.inf
    return {
        "n_support": len(machine.support_),
        "objective": float(machine.objective_),
        "gap": float(machine.dual_gap_),
        "relative_gap": float(machine.relative_gap_),
        **(_known(machine, own) if adapts else {}),
        **_parts(machine),
        "n_iter": int(machine.n_iter_),
    }


def _parts(machine: Any) -> dict[str, int]:
    """Return the number of parts that a machine was learned in, if it stayed so."""
    kernel = machine.kernel_
    return {"parts": len(kernel.centres)} if isinstance(kernel, PartitionedKernel) else {}


def learned_kernel(machine: Any) -> dict[str, Any]:
    """Return the facts of a kernel that was learned from labels, before the machine on it.

    Empty for other machines. Else ``labelled`` (rows whose class is known), ``rows``, and what
    the learner tells: ``strength``, ``objective``, ``alignment``, ``eigenvectors``,
    ``graph_parts``, ``pairs``, ``bounds`` and ``kernel_gap``.
    """
    learner = getattr(machine, "learner_", None)
    if learner is None:
        return {}
    found = _known(learner, LEARNED)
    if "kernel_gap" in found:
        found["pairs"] = len(learner.pairs_)
        found["bounds"] = [learner.similar_bound_, learner.dissimilar_bound_]
    if getattr(learner, "loss", None) == "alignment":
        del found["objective"]  # the same number
    rows = len(learner.support_vectors_)
    return {"labelled": len(machine.support_vectors_), "rows": rows, **found}


LEARNED = {
    "strength": "strength_",
    "objective": "objective_",
    "alignment": "alignment_",
    "eigenvectors": "n_kept_",
    "graph_parts": "n_connected_components_",
    "kernel_gap": "dual_gap_",
}
"""What a learner of kernels may tell, and its name there."""


def _known(machine: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return those attributes that a machine has, under other names."""
    return {name: getattr(machine, its) for name, its in names.items() if hasattr(machine, its)}


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


def settings(machine: Any) -> dict[str, Any]:
    """Return its hyper-parameters, those of its parts as PART__NAME; not the parts themselves."""
    found = machine.get_params(deep=True).items()
    return {name: value for name, value in found if not isinstance(value, BaseEstimator)}


def plain_parameters(machine: Any) -> dict[str, Any]:
    """Return its hyper-parameters; what is no plain value as text."""
    plain = (str, int, float, bool, type(None), Mapping)
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in settings(machine).items()
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide a result."""
    found = {package: version(package) for package in PACKAGES}
    return {"pliant": __version__, "python": platform.python_version(), **found}
