"""Records, pipelines and blends as ONNX nodes.

Each function adds nodes that compute what the record of the same name computes, and returns the
name of their output. Trees become one node of ai.onnx.ml 5, with the start value as a first tree of
one leaf, so that sums have the order of the library that grew the trees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.typing import Array
from pliant.export import expansions
from pliant.export.graph import OnnxGraph
from pliant.export.tables import add_table
from pliant.kernels.base import Kernel, Product, Scaled, Sum
from pliant.kernels.standard import Gaussian, Linear, Matern, Polynomial, Sigmoid
from pliant.records import (
    Affine,
    Constant,
    Imputation,
    KernelExpansion,
    Levels,
    LinearFunction,
    MeanTargets,
    OneHot,
    PairExpansion,
    Pipeline,
    Projection,
    SavedCalibration,
    SavedClassifier,
    SavedRegressor,
    SavedTarget,
    SavedTransformer,
    TreeEnsemble,
    has_record,
    to_record,
)


def as_record(model: Any) -> Any:
    """Return the record of an estimator of another library; others stay as they are."""
    return to_record(model) if has_record(model) else model


def add_prediction(graph: OnnxGraph, model: Any, X: str) -> tuple[str, int, bool]:
    """Add the predictions of a regressor.

    Returns their name, their number of columns, and True if they are of one target.
    """
    model = as_record(model)
    if isinstance(model, Pipeline):
        return add_prediction(graph, model[-1], add_steps(graph, model, X))
    if _is_blend(model):
        low, high = model.target_range_
        total = None
        for weight, (_, member) in zip(model.weights_, model.members_, strict=True):
            if weight > 0:
                value, _, _ = add_prediction(graph, member, X)
                value = graph.add("Reshape", value, np.array([-1, 1]))
                part = graph.add("Min", graph.add("Max", value, low), high)
                total = _add(graph, total, graph.add("Mul", part, weight))
        assert total is not None
        return total, 1, True
    if isinstance(model, SavedTarget):
        value, q, _ = add_prediction(graph, model.regressor_, X)
        return _inverse(graph, as_record(model.transformer_).function, value), q, model.single
    if isinstance(model, SavedRegressor):
        value, q = add_function(graph, model.function, X)
        return (graph.add("Exp", value) if model.link == "exp" else value), q, model.single
    return expansions.add_predictions(graph, model, X)


def add_classes(graph: OnnxGraph, model: Any, X: str) -> tuple[str, str | None, str | None]:
    """Add the scores whose largest is the label, probabilities or None, and decisions or None."""
    model, k = as_record(model), len(model.classes_)
    if isinstance(model, Pipeline):
        return add_classes(graph, model[-1], add_steps(graph, model, X))
    if _is_blend(model):
        total = None
        for weight, (_, member) in zip(model.weights_, model.members_, strict=True):
            if weight > 0:
                _, p, _ = add_classes(graph, member, X)
                assert p is not None
                part = graph.add("Min", graph.add("Max", p, 0.0), 1.0)
                total = _add(graph, total, graph.add("Mul", part, weight))
        assert total is not None
        shares = _shares(graph, total)
        return shares, shares, None
    if isinstance(model, SavedCalibration):
        shares = _calibrated(graph, model, X, k)
        return shares, shares, None
    if isinstance(model, SavedClassifier):
        return _of_head(graph, model, X, k)
    f, scores = expansions.add_scores(graph, model, X)
    probability = hasattr(model, "predict_proba")
    return scores, graph.add("Softmax", scores, axis=1) if probability else None, f


def _is_blend(model: Any) -> bool:
    """Return True for a weighted mean of estimators."""
    return hasattr(model, "estimators") and hasattr(model, "weights_")


def _add(graph: OnnxGraph, total: str | None, part: str) -> str:
    return part if total is None else graph.add("Add", total, part)


def _shares(graph: OnnxGraph, values: str) -> str:
    """Divide values by their sum over the classes."""
    return graph.add("Div", values, graph.add("ReduceSum", values, np.array([1]), keepdims=1))


def _both(graph: OnnxGraph, p: str) -> str:
    """Return the probabilities of two classes, given that of the second."""
    return graph.add("Concat", graph.add("Sub", np.ones(1), p), p, axis=1)


def _of_head(graph: OnnxGraph, model: Any, X: str, k: int) -> tuple[str, str | None, str | None]:
    """Add the outputs of a classifier's head; see `SavedClassifier`."""
    f, _ = add_function(graph, model.function, X)
    if k == 2 and model.head in ("odds", "votes", "pairs"):  # f = 0 elects the second class
        signs = (graph.add("Less", f, 0.0), graph.add("GreaterOrEqual", f, 0.0))
        pair = graph.add("Concat", *(graph.cast(each, graph.dtype) for each in signs), axis=1)
    else:
        pair = graph.add("Concat", graph.add("Sub", f, f), f, axis=1) if k == 2 else f  # [0, f]
    match model.head:
        case "shares":
            return f, f, None
        case "softmax":
            return f, graph.add("Softmax", f, axis=1), f
        case "logistic" | "odds":
            return pair, _both(graph, graph.add("Sigmoid", f)), f
        case "ratios":
            return f, _shares(graph, graph.add("Sigmoid", f)), f
        case "scores":
            return pair, None, f
    if k == 2:
        return pair, None, f
    if model.head == "pairs":
        raise ValueError("expected decision_function_shape='ovr' for ONNX, got 'ovo'")
    low, high = np.triu_indices(k, 1)
    first = graph.cast(graph.add("Greater", f, 0.0), graph.dtype)
    # each pair votes for `high`, or for `low` if its value is positive
    won = graph.add("MatMul", first, np.eye(k)[low] - np.eye(k)[high])
    won = graph.add("Add", won, np.eye(k)[high].sum(axis=0))
    return won, None, expansions.add_votes(graph, graph.add("Neg", f), k)


def _calibrated(graph: OnnxGraph, model: Any, X: str, k: int) -> str:
    """Add the mean of calibrated probabilities; curves are logistic."""
    total = None
    parts = zip(model.members_, model.responses_, model.curves_, strict=True)
    for member, response, curves in parts:
        if any(curve.ndim == 2 for curve in curves):
            raise ValueError("expected sigmoid calibration for ONNX, got isotonic calibration")
        _, p, f = add_classes(graph, member, X)
        values = f if response == "decision_function" else p
        assert values is not None
        if response == "predict_proba" and k == 2:
            values = graph.add("Gather", values, np.array([1]), axis=1)
        a, b = np.stack(curves).T
        q = graph.add("Sigmoid", graph.add("Neg", graph.add("Add", graph.add("Mul", values, a), b)))
        total = _add(graph, total, _both(graph, q) if k == 2 else _shares(graph, q))
    assert total is not None
    return graph.add("Div", total, float(len(model.members_)))


# --- functions ---


def add_function(graph: OnnxGraph, function: Any, X: str) -> tuple[str, int]:
    """Add a function of rows; return its values and their number of columns."""
    add = graph.add
    if isinstance(function, TreeEnsemble):
        return add_trees(graph, function, X), len(function.start)
    if isinstance(function, LinearFunction):
        return add("Gemm", X, function.weights, function.intercept), len(function.intercept)
    if isinstance(function, Constant):
        zero = add("MatMul", _filled(graph, X, 0.0), np.zeros((function.n_features, 1)))
        return add("Add", zero, function.value), len(function.value)
    if isinstance(function, KernelExpansion):
        K = _kernel(graph, function.kernel, X, function.points)
        sums = add("Mul", add("MatMul", K, function.coefficients), function.scale)
        return add("Add", sums, function.intercept), len(function.intercept)
    if isinstance(function, PairExpansion):
        K = _kernel(graph, function.kernel, X, function.points)
        return add("Gemm", K, _pair_coefficients(function), function.intercept), len(
            function.intercept
        )
    raise ValueError(f"expected a function with a form in ONNX, got {type(function).__name__}")


def _pair_coefficients(function: Any) -> Array:
    """Return the coefficients of all pairs, shape (n_centres, n_pairs)."""
    k, c = len(function.counts), function.coefficients
    owner = np.repeat(np.arange(k), function.counts)
    low, high = np.triu_indices(k, 1)
    result = np.zeros((len(c), len(low)))
    for pair, (a, b) in enumerate(zip(low, high, strict=True)):
        result[owner == a, pair] = c[owner == a, b - 1]
        result[owner == b, pair] = c[owner == b, a]
    return result


def _kernel(graph: OnnxGraph, kernel: Kernel | None, X: str, points: Array) -> str:
    """Add the kernel values of rows with centres."""
    add = graph.add
    if kernel is None:
        return add("Gather", X, points.astype(np.int64), axis=1)
    if isinstance(kernel, Scaled):
        return add("Mul", _kernel(graph, kernel.kernel, X, points), float(kernel.scale))
    if isinstance(kernel, Sum | Product):
        operator = "Add" if isinstance(kernel, Sum) else "Mul"
        parts = (_kernel(graph, part, X, points) for part in (kernel.left, kernel.right))
        return add(operator, *parts)
    if type(kernel) in (Gaussian, Matern):
        return _radial(graph, kernel, X, points)
    inner = add("MatMul", X, points.T)
    if type(kernel) is Linear:
        return inner
    if isinstance(kernel, Polynomial | Sigmoid):
        inner = add("Add", add("Mul", inner, float(kernel.gamma)), float(kernel.coef0))
        if isinstance(kernel, Sigmoid):
            return add("Tanh", inner)
        return add("Pow", inner, float(kernel.degree))
    raise ValueError(f"expected a kernel with a form in ONNX, got {type(kernel).__name__}")


def _radial(graph: OnnxGraph, kernel: Any, X: str, points: Array) -> str:
    """Add h(|theta o (x - c)|^2) by products, with points centred at their mean."""
    add, mean = graph.add, points.mean(axis=0)
    gamma = kernel.gamma if type(kernel) is Gaussian else 4.0 * kernel.nu * np.asarray(kernel.gamma)
    theta = np.sqrt(gamma) * np.ones(points.shape[1])
    p, q = add("Mul", add("Sub", X, mean), theta), (points - mean) * theta
    squares = add("ReduceSum", add("Mul", p, p), np.array([1]), keepdims=1)
    # D = |p|^2 - 2 p'q + |q|^2
    D = add("Add", add("Gemm", p, -2.0 * q.T, np.sum(q**2, axis=1)), squares)
    D = add("Max", D, 0.0)
    if type(kernel) is Gaussian:
        return add("Exp", add("Neg", D))
    r = add("Sqrt", D)
    K = add("Exp", add("Neg", r))
    if kernel.nu == 2.5:
        return add("Mul", K, add("Add", add("Mul", r, add("Add", add("Div", r, 3.0), 1.0)), 1.0))
    return add("Mul", K, add("Add", r, 1.0)) if kernel.nu == 1.5 else K


def add_trees(graph: OnnxGraph, trees: TreeEnsemble, X: str) -> str:
    """Add an ensemble of trees as one node; a leaf of several values becomes several trees."""
    k, width = len(trees.start), trees.leaves.shape[1]
    dtype = np.dtype(np.float32 if trees.narrow else graph.dtype)
    if trees.single:
        X = graph.cast(X, np.float32)
    X = graph.cast(X, dtype)
    parts = [_first_leaves(trees, dtype)] if trees.start.any() else []
    starts = [sum(len(part["feature"]) for part in parts)]
    roots = list(range(starts[0]))
    n_leaves = sum(len(part["values"]) for part in parts)
    for c in range(width):
        part, own_roots = _copy(trees, c, dtype, sum(len(p["feature"]) for p in parts), n_leaves)
        parts.append(part)
        roots += own_roots
        n_leaves += len(part["values"])
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    graph.require("ai.onnx.ml", 5)  # trees in float64 run since 2024
    total = graph.add(
        "TreeEnsemble",
        X,
        domain="ai.onnx.ml",
        aggregate_function=1,  # sum
        post_transform=0,
        n_targets=k,
        tree_roots=np.asarray(roots).tolist(),
        nodes_featureids=joined["feature"].tolist(),
        nodes_splits=graph.from_array(joined["threshold"].astype(dtype)),
        nodes_modes=graph.from_array(np.zeros(len(joined["feature"]), np.uint8)),  # x <= threshold
        nodes_truenodeids=joined["left"].tolist(),
        nodes_trueleafs=joined["left_leaf"].astype(int).tolist(),
        nodes_falsenodeids=joined["right"].tolist(),
        nodes_falseleafs=joined["right_leaf"].astype(int).tolist(),
        nodes_missing_value_tracks_true=joined["missing_left"].astype(int).tolist(),
        leaf_targetids=joined["targets"].tolist(),
        leaf_weights=graph.from_array(joined["values"].astype(dtype)),
    )
    if trees.divisor != 1.0:
        total = graph.add("Div", total, trees.divisor)
    total = graph.cast(total, graph.dtype)
    return total if trees.offset is None else graph.add("Add", total, trees.offset)


def _first_leaves(trees: TreeEnsemble, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return one tree per output, whose two leaves are the start value."""
    k = len(trees.start)
    leaf, yes = np.arange(k), np.ones(k, dtype=bool)
    return {
        "feature": np.zeros(k, int),
        "threshold": np.zeros(k, dtype),
        "missing_left": yes,
        "left": leaf,
        "left_leaf": yes,
        "right": leaf,
        "right_leaf": yes,
        "targets": leaf,
        "values": trees.start.astype(dtype),
    }


def _copy(
    trees: TreeEnsemble, column: int, dtype: np.dtype[Any], n_nodes: int, n_leaves: int
) -> tuple[dict[str, Any], list[int]]:
    """Return the trees with one column of their leaves, numbered after earlier nodes and leaves.

    A tree that is a single leaf gets a node with two equal ends.
    """
    alone = trees.roots < 0
    extra = ~trees.roots[alone]
    count = len(trees.feature)
    roots = np.where(alone, count + np.cumsum(alone) - 1, trees.roots) + n_nodes
    threshold = trees.threshold.astype(dtype)  # rounded down: x <= t for float32 numbers x
    above = threshold > trees.threshold
    threshold[above] = np.nextafter(threshold[above], dtype.type(-np.inf))
    found: dict[str, Any] = {
        "feature": np.append(trees.feature, np.zeros(len(extra), np.int32)),
        "threshold": np.append(threshold, np.zeros(len(extra), dtype)),
        "missing_left": np.append(trees.missing_left, np.ones(len(extra), dtype=bool)),
    }
    for side in ("left", "right"):
        child = np.append(getattr(trees, side), ~extra).astype(np.int64)
        found[side] = np.where(child < 0, ~child + n_leaves, child + n_nodes)
        found[f"{side}_leaf"] = child < 0
    several = trees.leaves.shape[1] > 1
    targets = np.full(len(trees.leaves), column) if several else _targets(trees)
    return {**found, "targets": targets, "values": trees.leaves[:, column]}, roots.tolist()


def _targets(trees: TreeEnsemble) -> Any:
    """Return the output of each leaf: that of the tree that contains it."""
    of_node = np.zeros(len(trees.feature), dtype=np.int64)
    targets = np.zeros(len(trees.leaves), dtype=np.int64)
    for root, output in zip(trees.roots.tolist(), trees.outputs.tolist(), strict=True):
        if root < 0:
            targets[~root] = output
        else:
            of_node[root] = output
    for node in range(len(trees.feature)):  # parents before children
        for child in (int(trees.left[node]), int(trees.right[node])):
            if child < 0:
                targets[~child] = of_node[node]
            else:
                of_node[child] = of_node[node]
    return targets


# --- transforms ---


def add_steps(graph: OnnxGraph, model: Pipeline, X: str) -> str:
    """Add all steps of a pipeline but the last."""
    for _, step in model.steps[:-1]:
        X = add_transform(graph, as_record(step), X)
    return X


def add_transform(graph: OnnxGraph, step: Any, X: str) -> str:
    """Add a transformer of numbers."""
    if isinstance(step, Pipeline):
        return add_transform(graph, step[-1], add_steps(graph, step, X))
    if isinstance(step, SavedTransformer):
        return _transform(graph, step.function, X)
    if hasattr(step, "parts_"):  # the encoder of a table
        parts = [
            _transform(graph, part, graph.add("Gather", X, np.array(columns, np.int64), axis=1))
            for _, part, columns in step.parts_
        ]
        return graph.add("Concat", *parts, axis=1)
    if hasattr(step, "schema_"):
        if {column.kind for column in step.schema_.columns} != {"numeric"}:
            X = add_table(graph, step.schema_)
            return add_transform(graph, step.encoder_, X) if step.encode else X
        names = list(getattr(step, "feature_names_in_", ()))
        if names:  # some columns of the table may be left out
            places = [names.index(column.name) for column in step.schema_.columns]
            X = graph.add("Gather", X, np.array(places), axis=1)
        return add_transform(graph, step.encoder_, X) if step.encode else X
    raise ValueError(f"expected a transformer with a form in ONNX, got {type(step).__name__}")


def _transform(graph: OnnxGraph, part: Any, X: str) -> str:
    """Add a transform of a record."""
    add = graph.add
    if isinstance(part, Affine):
        pairs = [("Sub", part.centre), ("Div", part.scale), ("Mul", part.factor)]
        for operator, numbers in [*pairs, ("Add", part.offset)]:
            X = X if numbers is None else add(operator, X, numbers)
        return X if part.low is None else add("Min", add("Max", X, part.low), float(part.high or 0))
    if isinstance(part, Imputation):
        filled = add("Where", add("IsNaN", X), part.values, X)
        kept = add("Gather", filled, np.flatnonzero(~part.left_out), axis=1)
        marks = add("Gather", X, part.indicators.astype(np.int64), axis=1)
        return add("Concat", kept, graph.cast(add("IsNaN", marks), graph.dtype), axis=1)
    if isinstance(part, OneHot):
        return add("Concat", *_indicators(graph, part.levels, X), axis=1)
    if isinstance(part, MeanTargets):
        outputs, start = [], 0
        for size, known in zip(part.levels.sizes, _indicators(graph, part.levels, X), strict=True):
            # exact, as one indicator is 1 at most: known (means - overall) would round
            means = add("MatMul", known, part.means[start : start + size])
            found = add("ReduceSum", known, np.array([1]), keepdims=1)
            rest = add("Mul", add("Sub", np.ones(1), found), part.overall)
            outputs.append(add("Add", means, rest))
            start += size
        return add("Concat", *outputs, axis=1)
    if isinstance(part, Projection):
        Z = add("MatMul", X, part.components.T)
        if part.centre is not None:
            Z = add("Sub", Z, part.centre[None] @ part.components.T)
        return Z if part.scale is None else add("Div", Z, part.scale)
    raise ValueError(f"expected a transform with a form in ONNX, got {type(part).__name__}")


def _indicators(graph: OnnxGraph, levels: Levels, X: str) -> list[str]:
    """Add the indicators of the levels of each feature."""
    result = []
    for j, (known, missing) in enumerate(zip(levels.each, levels.missing, strict=True)):
        column = graph.add("Gather", X, np.array([j]), axis=1)
        parts = [graph.add("Equal", column, known[None])] if len(known) else []
        parts += [graph.add("IsNaN", column)] if missing else []
        joined = graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        result.append(graph.cast(joined, graph.dtype))
    return result


def _inverse(graph: OnnxGraph, scaler: Affine, Z: str) -> str:
    """Add the inverse of a scaling."""
    pairs = [("Sub", scaler.offset), ("Div", scaler.factor), ("Mul", scaler.scale)]
    for operator, numbers in [*pairs, ("Add", scaler.centre)]:
        Z = Z if numbers is None else graph.add(operator, Z, numbers)
    return Z


def _filled(graph: OnnxGraph, X: str, value: float) -> str:
    """Add rows whose missing values are replaced by a number."""
    return graph.add("Where", graph.add("IsNaN", X), value, X)
