"""What a fitted model has learned, as plain data for printing and for model files."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pliant._version import __version__
from pliant.comparison.journal import PACKAGES
from pliant.methods.summary import FunctionSummary, summarize


def functions(estimator: Any, feature_names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the facts of each real function that an estimator learned.

    Each has ``n_support`` and ``n_iter``. A certified one has ``objective``, ``gap`` (absolute) and
    ``relative_gap`` (in the units of ``tol``). Further facts depend on the method: ``eta``,
    ``rank``, ``parts`` (their gaps are added up), ``members`` with their ``held_out_score``, and,
    if features have names, the ``relevance`` of each feature, its ``relevance_spread`` over the
    members (nan for a single member) and the pairs of ``correlated`` features. With more than two
    classes there is one function for each pair, with the ``classes`` that it separates.
    """
    return [_facts(function, feature_names) for function in summarize(estimator).functions]


def kernel(estimator: Any, feature_names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the facts of a kernel that was learned before the functions, or with them as a sum.

    A sum has the number of ``kernels``, the ``weights`` that are not zero by the name of the
    kernel, and the number of ``sets`` of which these are the mean, one for each pair of classes.
    """
    summary = summarize(estimator)
    if summary.weights is None:
        return dict(summary.learner)
    names = summary.weights.names(feature_names or None)
    mean = summary.weights.weights.mean(axis=0).tolist()
    weights = {name: weight for name, weight in zip(names, mean, strict=True) if weight}
    facts = {"kernels": len(names), "sets": len(summary.weights.weights), "weights": weights}
    return {**summary.learner, **facts}


def _facts(function: FunctionSummary, feature_names: Sequence[str]) -> dict[str, Any]:
    details = dict(function.details)
    names = list(feature_names)
    shares = {key: details.pop(key) for key in ("relevance", "relevance_spread") if key in details}
    correlated = details.pop("correlated", ())
    facts: dict[str, Any] = {"n_support": function.n_support}
    if function.classes is not None:
        facts = {"classes": list(function.classes), **facts}
    if function.gap is not None:
        facts["objective"] = function.objective
        facts["gap"] = function.gap
        facts["relative_gap"] = function.relative_gap
    facts = {**facts, **details, "n_iter": function.n_iter}
    if shares and names:
        for key, values in shares.items():
            facts[key] = dict(zip(names, values.tolist(), strict=True))
        facts["correlated"] = [[names[j], names[k]] for j, k in correlated]
    return facts


def settings(estimator: Any) -> dict[str, Any]:
    """Return its parameters; those of an estimator inside it as STEP__NAME."""
    parameters = estimator.get_params(deep=True).items()
    return {name: value for name, value in parameters if not isinstance(value, BaseEstimator)}


def plain_parameters(estimator: Any) -> dict[str, Any]:
    """Return its parameters; values that are not plain data as text."""
    plain = (str, int, float, bool, type(None), Mapping)
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in settings(estimator).items()
    }


def summarised(folds: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return mean, spread (sample standard deviation) and values of each score of all folds."""
    if not folds:
        return None
    titles = [title for title in folds[0] if all(fold.get(title) is not None for fold in folds)]
    values = {title: [fold[title] for fold in folds] for title in titles}
    scores = {
        title: {"mean": float(np.mean(v)), "std": float(np.std(v, ddof=len(v) > 1)), "folds": v}
        for title, v in values.items()
    }
    return {"folds": len(folds), "scores": scores}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    packages = {package: version(package) for package in PACKAGES}
    return {"pliant": __version__, "python": platform.python_version(), **packages}
