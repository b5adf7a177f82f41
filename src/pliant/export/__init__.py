"""Export of fitted models to ONNX."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pliant.core.estimators import check_is_fitted
from pliant.core.parameters import check_choice, check_share
from pliant.export.graph import OnnxGraph
from pliant.export.intervals import add_interval
from pliant.export.records import add_classes, add_prediction, add_steps, as_record
from pliant.records import Pipeline


def to_onnx(
    model: Any,
    dtype: Literal["float64", "float32"] = "float64",
    *,
    coverage: float | None = None,
) -> Any:
    """Convert a fitted model to ONNX, for predictions without Python.

    The input of the ONNX model is "X", shape (n_samples, n_features). A pipeline that starts with
    `TableFeatures`, on a table not only of numbers, has an input for each column instead, with its
    name and shape (n_samples,). A category is a text, without spaces around it, and the empty text
    if missing. All other columns are numbers, NaN if missing: 0 or 1 for a boolean, and days since
    1970, with a fraction, for a date.

    The output of a regressor is "predicted", with the shape of `predict`; with `coverage`, also
    "low" and "high". The outputs of a classifier are "label", int64 or strings, and
    "probabilities". Classifiers without ``predict_proba`` have "decision" instead, with the shape
    of ``decision_function``. The ONNX model does not check X: for a row with NaN,
    its numbers are NaN and its label has no meaning, where `predict` raises an error. Trees need a
    runtime with ai.onnx.ml 5; with one thread, they predict the same bits.

    Parameters
    ----------
    model : estimator
        `LABRBFRegressor` or `LABRBFClassifier`; with a Gaussian or Matern kernel, also
        `SketchedKernelRidge`, `SketchedKernelRidgeClassifier` and `AsymmetricKernelRidge`, and the
        estimators of DANK and KNPL with ``extension="none"``. Also estimators of scikit-learn,
        XGBoost, LightGBM and CatBoost that `save` accepts, except Gaussian process classifiers,
        isotonic calibration, and `KernelRidge` with a Laplacian or learned kernel; and pipelines
        and blends of all these. A table has no columns of free text.
    dtype : {"float64", "float32"}, default="float64"
        Type of X, of the constants and of the outputs except labels. With "float64", the outputs
        agree with the predictions of `model` up to rounding errors. With "float32", models with
        large coefficients can lose digits, such as `SketchedKernelRidge` with a small `alpha`, or
        LAB-RBF with dense members, whose penalty may be 1e-5 (errors of 1e-3 were measured),
        and so can features with a mean of 1e6 or more times their range: subtract it before `fit`.
    coverage : float, optional
        Probability, in (0, 1), that an interval from "low" to "high" contains the target, as in
        ``predict_interval`` of LAB-RBF and of blends.

    Returns
    -------
    onnx.ModelProto
        The ONNX model; its method ``SerializeToString`` returns the bytes of a file.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        If `model` or its kernel has another type, `model` has no support vectors or no intervals,
        or the name of a column is that of an output.
    """
    graph = OnnxGraph(np.dtype(check_choice("dtype", dtype, ("float64", "float32"))))
    check_is_fitted(model)
    model = as_record(model)
    last, X = model, "X"
    while isinstance(last, Pipeline):
        X, last = add_steps(graph, last, X), as_record(last[-1])
    if coverage is not None:
        check_share("coverage", coverage)
        if not hasattr(last, "predict_interval"):
            name = type(last).__name__
            raise ValueError(f"expected a LAB-RBF regressor or a blend for intervals, got {name}")
    if hasattr(last, "classes_"):
        _add_classes(graph, last, X)
    else:
        _add_targets(graph, last, X, coverage)
    return graph.build(model.n_features_in_)


def _add_targets(graph: OnnxGraph, model: Any, X: str, coverage: float | None) -> None:
    """Add the predictions of a regressor, and the ends of their intervals."""
    if coverage is None:
        predicted, q, single = add_prediction(graph, model, X)
        graph.add_output("predicted", predicted, *(() if single else (q,)))
        return
    shape = () if getattr(model, "single_output_", True) else (model.n_outputs_,)
    ends = zip(("predicted", "low", "high"), add_interval(graph, model, X, coverage), strict=True)
    for name, values in ends:
        graph.add_output(name, values, *shape)


def _add_classes(graph: OnnxGraph, model: Any, X: str) -> None:
    """Add the labels, and the probabilities or decision values."""
    classes, k = model.classes_, len(model.classes_)
    scores, probability, decision = add_classes(graph, model, X)
    numeric = classes.dtype.kind in "biuf"
    labels = classes.astype(np.int64) if numeric else classes.astype(str).astype(object)
    label = graph.add("Gather", labels, graph.add("ArgMax", scores, axis=1, keepdims=0))
    graph.add_output("label", label, dtype=labels.dtype)
    if probability is not None:
        graph.add_output("probabilities", probability, k)
    else:
        assert decision is not None
        graph.add_output("decision", decision, *(() if k == 2 else (k,)))
