"""Prediction intervals as ONNX nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.core.typing import Array
from pliant.export import expansions
from pliant.export.graph import OnnxGraph
from pliant.export.records import add_prediction
from pliant.methods.lab_rbf.members import LABRBFMember
from pliant.methods.lab_rbf.regressor import LABRBFRegressor


def add_interval(graph: OnnxGraph, model: Any, X: str, coverage: float) -> tuple[str, str, str]:
    """Add the predictions of a LAB-RBF regressor or a blend, and the ends of their intervals."""
    if isinstance(model, LABRBFRegressor):
        return _of_members(graph, model, X, coverage)
    predicted, _, _ = add_prediction(graph, model, X)
    low, high = model.error_range(coverage)
    return predicted, graph.add("Add", predicted, low), graph.add("Add", predicted, high)


def _of_members(
    graph: OnnxGraph, model: LABRBFRegressor, X: str, coverage: float
) -> tuple[str, str, str]:
    """Add the weighted mean of the members, and quantiles of the error around that of pairs."""
    add, errors = graph.add, model._get_error_model()
    used = [(m, w) for m, w in zip(model.members_, model.weights_, strict=True) if w > 0]
    weights, each = np.array([w for _, w in used]), np.eye(len(used))
    mixing = _pairs([member.objective_ == "dense" for member, _ in used], weights)
    mean = np.full((len(mixing), 1), 1.0 / len(mixing))
    outputs = np.eye(len(errors.unit))  # a matrix M acts on members or pairs: M x I on all values
    placed = [_placed(member, each[k]) for k, (member, _) in enumerate(used)]
    values = expansions.add_sum(graph, placed, X)  # of all members, (n_samples, n_members q)
    f = add("MatMul", values, np.kron(weights[:, None], outputs))
    pairs = add("MatMul", values, np.kron(mixing.T, outputs))
    middle = add("MatMul", pairs, np.kron(mean, outputs))
    away = add("Sub", pairs, add("MatMul", middle, np.kron(np.ones_like(mean.T), outputs)))
    spread = add("Sqrt", add("MatMul", add("Mul", away, away), np.kron(mean, outputs)))
    # s = sqrt((noise unit)^2 + (ratio spread)^2)
    scaled = add("Mul", spread, errors.ratio)
    scale = add("Add", add("Mul", scaled, scaled), (errors.noise * errors.unit) ** 2)
    scale = add("Sqrt", scale)
    low, high = (
        add("Add", middle, add("Mul", scale, errors.quantile(probability)))
        for probability in ((1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0)
    )
    unit = model.target_unit_
    low, high = (expansions.from_scale(graph, end, unit) for end in (low, high))
    return expansions.add_target(graph, model, f), low, high


def _placed(member: LABRBFMember, place: Array) -> LABRBFMember:
    """Return a member whose outputs are among zeros, for a unit vector of shape (n_members,)."""
    return replace(
        member,
        dual_coef_=np.kron(place, member.dual_coef_),
        linear_coef_=np.kron(place, member.linear_coef_),
        intercept_=np.kron(place, member.intercept_),
    )


def _pairs(dense: list[bool], weights: Array) -> Array:
    """Return the matrix from members to pairs of a local and a dense one, (n_pairs, n_members).

    Its product with the members' values is `LABRBFRegressor._member_pairs`.
    """
    each, share = np.eye(len(dense)), float(np.sum(np.compress(dense, weights)))
    local, partners = each[~np.array(dense)], each[dense]
    if not share:
        return local
    chosen = partners[np.arange(len(local)) % len(partners)]
    chosen += partners.mean(axis=0) - chosen.mean(axis=0)
    return np.asarray((1.0 - share) * local + share * chosen)
