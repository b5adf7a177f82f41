"""Export of fitted models to ONNX.

The graph computes squared distances from products, as `LocalRBFKernel` does, so its largest array
has shape (n_samples, n_support).
"""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag
from sklearn.utils.validation import check_is_fitted

from pliant._version import __version__
from pliant.core.typing import Array
from pliant.core.validation import check_choice
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Gaussian, Matern
from pliant.methods.dank.kernel import HadamardKernel
from pliant.methods.lab_rbf.base import BaseLABRBF
from pliant.methods.lab_rbf.kernel import WARPS, LocalRBFKernel, Warp, centre_products
from pliant.methods.lab_rbf.members import Expansion
from pliant.methods.lab_rbf.regressor import LABRBFRegressor
from pliant.methods.ridge.asymmetric import AsymmetricKernelRidge
from pliant.methods.ridge.sketched import BaseSketched
from pliant.methods.svm.machine import BaseSVM


class OnnxGraph:
    """Nodes, constants and outputs of an ONNX graph, with one floating-point type."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        try:
            self.helper: Any = import_module("onnx.helper")
            self.from_array: Any = import_module("onnx.numpy_helper").from_array
        except ImportError as error:
            need = f"to_onnx needs onnx ({error})"
            raise ImportError(f"{need}: pip install 'pliant[onnx]'") from error
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []

    def add(self, operator: str, *inputs: str | npt.ArrayLike, **options: Any) -> str:
        """Add a node, and constants for the inputs that are arrays; return the node's output."""
        names, output = [], f"value_{len(self.nodes)}"
        for each in inputs:
            names.append(each if isinstance(each, str) else f"constant_{len(self.constants)}")
            if not isinstance(each, str):
                array = np.asarray(each)
                array = array.astype(self.dtype) if array.dtype.kind == "f" else array
                self.constants.append(self.from_array(array, names[-1]))
        self.nodes.append(self.helper.make_node(operator, names, [output], **options))
        return output

    def add_output(self, name: str, value: str, *shape: int, dtype: Any = None) -> None:
        """Add an output whose rows have the given shape."""
        value = self.add("Reshape", value, np.array([-1, *shape]))
        self.nodes[-1].output[0] = name
        self.outputs.append(self._describe(name, dtype or self.dtype, *shape))

    def _describe(self, name: str, dtype: np.dtype[Any], *shape: int) -> Any:
        element = self.helper.np_dtype_to_tensor_dtype(dtype)
        return self.helper.make_tensor_value_info(name, element, ["n_samples", *shape])

    def build(self, n_features: int) -> Any:
        """Build the model, with the input X of shape (n_samples, n_features)."""
        X = self._describe("X", self.dtype, n_features)
        graph = self.helper.make_graph(self.nodes, "pliant", [X], self.outputs, self.constants)
        opset = self.helper.make_opsetid("", 17)  # with IR version 8: for runtimes since 2022
        options = {"producer_name": "pliant", "producer_version": __version__, "ir_version": 8}
        return self.helper.make_model(graph, opset_imports=[opset], **options)


def to_onnx(model: Any, dtype: Literal["float64", "float32"] = "float64") -> Any:
    """Convert a fitted model to ONNX, for predictions without Python.

    The input of the ONNX model is "X", shape (n_samples, n_features). The output of a regressor is
    "predicted", with the shape of `predict`. The outputs of a classifier are "label", int64 or
    strings, and "probabilities". Classifiers without ``predict_proba`` have "decision" instead,
    with the shape of ``decision_function``. The ONNX model does not check X: for a row with NaN,
    its numbers are NaN and its label has no meaning, where `predict` raises an error.

    Parameters
    ----------
    model : estimator
        `LABRBFRegressor` or `LABRBFClassifier`; with a Gaussian or Matern kernel, also
        `SketchedKernelRidge`, `SketchedKernelRidgeClassifier` and `AsymmetricKernelRidge`, and the
        estimators of DANK and KNPL with ``extension="none"``.
    dtype : {"float64", "float32"}, default="float64"
        Type of X, of the constants and of the outputs except labels. With "float64", the outputs
        agree with the predictions of `model` up to rounding errors. With "float32", models with
        large coefficients can lose digits, such as `SketchedKernelRidge` with a small `alpha`, or
        LAB-RBF with dense members, whose penalty may be 1e-5 (errors of 1e-3 were measured),
        and so can features with a mean of 1e6 or more times their range: subtract it before `fit`.

    Returns
    -------
    onnx.ModelProto
        The ONNX model; its method ``SerializeToString`` returns the bytes of a file.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        If `model` or its kernel has another type, or `model` has no support vectors.
    """
    graph = OnnxGraph(np.dtype(check_choice("dtype", dtype, ("float64", "float32"))))
    check_is_fitted(model)
    members = model._terms if isinstance(model, BaseLABRBF) else [_as_expansion(model)]
    f: Any = np.sum([member.intercept_ for member in members], axis=0)
    groups: dict[bytes, list[Expansion]] = {}
    for member in members:
        mixing = b"" if member.mixing is None else member.mixing.tobytes()
        key = member.kernel_.profile.encode() + member.warp_.key() + mixing
        groups.setdefault(key, []).append(member)
    for group in groups.values():
        f = _add_members(graph, group, f)
    if hasattr(model, "classes_"):
        _add_classes(graph, model, f)
    else:
        _add_predictions(graph, model, f, len(members[0].intercept_))
    return graph.build(model.n_features_in_)


def _as_expansion(model: Any) -> Expansion:
    """Write a kernel expansion, or all functions of an SVM, as a LAB-RBF expansion."""
    name = type(model).__name__
    if not isinstance(model, BaseSVM | BaseSketched | AsymmetricKernelRidge):
        raise ValueError(f"expected a LAB-RBF model or a kernel expansion for ONNX, got {name}")
    functions = getattr(model, "estimators_", [model])  # an SVM has one per pair of classes
    parameters = [_radial_parameters(each.kernel_, name) for each in functions]
    vectors = np.vstack([each.support_vectors_ for each in functions])
    if not len(vectors):
        raise ValueError(f"expected a model with support vectors, got a constant {name}")
    c = block_diag(*(np.atleast_2d(each.dual_coef_.T).T for each in functions))
    intercept = np.hstack([each.intercept_ for each in functions]) + np.zeros(c.shape[1])
    # u(x) = theta o (x - mean), clipped to keep squares finite: at 1e9, kernel values are 0
    profile, theta = parameters[0]  # the same for all functions
    zeros, ones, mean = np.zeros_like(vectors[0]), np.ones_like(vectors), vectors.mean(axis=0)
    warp = Warp(zeros.astype(np.intp), zeros, ones[0], mean, theta * ones[0])
    return Expansion(
        kernel_=LocalRBFKernel(vectors, ones, profile, warp),
        warp_=warp,
        limits_=mean + np.outer([-1e9, 1e9], 1.0 / np.where(theta > 0, theta, 1.0) * ones[0]),
        linear_=False,
        dual_coef_=c,
        linear_coef_=np.zeros((vectors.shape[1], c.shape[1])),
        intercept_=intercept,
    )


def _radial_parameters(kernel: Kernel | None, name: str) -> tuple[str, Array]:
    """Return h and theta of a kernel h(|theta o (x - y)|^2) of the named estimator."""
    if isinstance(kernel, HadamardKernel) and kernel._extension == "none":
        kernel = kernel.base
    if type(kernel) is Gaussian:
        return "gaussian", np.sqrt(kernel.gamma)
    if type(kernel) is Matern:
        profile = {0.5: "laplacian", 1.5: "matern32", 2.5: "matern52"}[kernel.nu]
        return profile, np.sqrt(2.0 * np.asarray(kernel.gamma))
    got = "a precomputed kernel" if kernel is None else type(kernel).__name__
    if isinstance(kernel, HadamardKernel):
        got += f" with extension={kernel.extension!r}, not 'none'"
    raise ValueError(f"expected {name} with a Gaussian or Matern kernel for ONNX, got {got}")


def _add_members(graph: OnnxGraph, members: list[Expansion], f: str | Array) -> str:
    """Add the expansions of members with the same transform and profile to f."""
    warp, profile, add = members[0].warp_, members[0].kernel_.profile, graph.add
    order = np.argsort(warp.kinds, kind="stable")
    C = warp(np.vstack([member.kernel_.centres for member in members]))[:, order]
    low, high = warp(members[0].limits_)[:, order]
    u = "X" if warp.affine else _add_transforms(graph, warp)
    centres, slopes = warp.centres[order], warp.slopes[order]
    u = add("Mul", add("Sub", u, centres), slopes)
    rounding = (centres.astype(graph.dtype) - centres) * slopes  # float32 rounds the centres
    u = add("Add", u, rounding) if rounding.any() else u
    u = add("Min", add("Max", u, low), high)
    z, mixing = u, members[0].mixing
    if mixing is None:
        theta = np.vstack([member.mapped_bandwidths() for member in members])[:, order]
    else:  # z = A'u
        theta = np.vstack([member.kernel_.bandwidths for member in members])
        z, C = add("MatMul", u, mixing[order]), C @ mixing[order]
    mean = C.mean(axis=0)  # products lose digits far from the origin
    p = add("Sub", z, mean)
    w = centre_products(theta * theta, C - mean).T
    # D = [p o p, p] w[:-1] + w[-1]; with r = sqrt(factor D), h is exp(-D), exp(-r),
    # (1 + r) exp(-r) or (1 + r + r^2/3) exp(-r)
    factor = {"gaussian": -1.0, "laplacian": 1.0, "matern32": 3.0, "matern52": 5.0}[profile]
    z = add("Concat", add("Mul", p, p), p, axis=1)
    D = add("Gemm", z, w[:-1], w[-1], alpha=factor, beta=factor)
    if profile == "gaussian":
        K = add("Exp", add("Min", D, 0.0))
    elif profile == "laplacian":  # the root would amplify rounding errors near D = 0
        errors = 16.0 * np.finfo(graph.dtype).eps * w[-1]
        D = add("Where", add("Less", D, errors), 0.0, D)
        K = add("Exp", add("Neg", add("Sqrt", D)))
    else:
        r = add("Sqrt", add("Max", D, 0.0))
        K = add("Exp", add("Neg", r))
        if profile == "matern52":
            r = add("Mul", r, add("Add", add("Div", r, 3.0), 1.0))
        K = add("Mul", K, add("Add", r, 1.0))
    v = np.sum([member.linear_coef_ for member in members], axis=0)[order]
    f = add("Gemm", K, np.vstack([member.dual_coef_ for member in members]), f)
    return add("Gemm", u, v, f) if v.any() else f


def _add_transforms(graph: OnnxGraph, warp: Warp) -> str:
    """Add the transforms of the features, without scaling, in the order of their kinds."""
    add, parts = graph.add, []
    for kind in np.unique(warp.kinds):
        features = np.flatnonzero(warp.kinds == kind)
        t = add("Gather", "X", features, axis=1)
        offsets, widths = warp.offsets[features], warp.widths[features]
        if WARPS[kind] == "log":
            t = add("Log", add("Add", add("Max", t, 0.0), offsets))
        elif WARPS[kind] == "asinh":  # sign(t) log(|t| + sqrt(t^2 + 1)): Asinh may lack float64
            t = add("Div", add("Sub", t, offsets), widths)
            root = add("Sqrt", add("Add", add("Mul", t, t), 1.0))
            t = add("Mul", add("Sign", t), add("Log", add("Add", add("Abs", t), root)))
        parts.append(t)
    return graph.add("Concat", *parts, axis=1)


def _add_predictions(graph: OnnxGraph, model: Any, f: str, q: int) -> None:
    """Add the predictions of a regressor, clipped to the range of the target for LAB-RBF."""
    add, lab_rbf = graph.add, isinstance(model, LABRBFRegressor)
    if lab_rbf:
        if model.target_unit_ is not None:  # u sinh(f)
            twice = add("Sub", add("Exp", f), add("Exp", add("Neg", f)))
            f = add("Mul", twice, model.target_unit_ / 2.0)
        f = add("Min", add("Max", f, model.target_low_), model.target_high_)
    single = model.single_output_ if lab_rbf else model.dual_coef_.ndim == 1
    graph.add_output("predicted", f, *(() if single else (q,)))


def _add_classes(graph: OnnxGraph, model: Any, f: str) -> None:
    """Add the labels, and the probabilities or decision values."""
    add, classes, k = graph.add, model.classes_, len(model.classes_)
    if isinstance(model, BaseSVM) and k > 2:
        f = _add_votes(graph, f, k)
    scores = add("Mul", f, [0.0, 1.0]) if k == 2 else f
    numeric = classes.dtype.kind in "biuf"
    labels = classes.astype(np.int64) if numeric else classes.astype(str).astype(object)
    label = add("Gather", labels, add("ArgMax", scores, axis=1, keepdims=0))
    graph.add_output("label", label, dtype=labels.dtype)
    if hasattr(model, "predict_proba"):
        graph.add_output("probabilities", add("Softmax", scores, axis=1), k)
    else:
        graph.add_output("decision", f, *(() if k == 2 else (k,)))


def _add_votes(graph: OnnxGraph, f: str, k: int) -> str:
    """Add the one-vs-one votes of k classes, as `pliant.methods.svm.machine.votes`."""
    add, (low, high) = graph.add, np.array(list(combinations(range(k), 2))).T
    losers, signs = np.eye(k)[low], np.eye(k)[high] - np.eye(k)[low]  # f > 0 elects `high`
    element = graph.helper.np_dtype_to_tensor_dtype(graph.dtype)
    won, sums = add("Cast", add("Greater", f, 0.0), to=element), add("MatMul", f, signs)
    ratios = add("Div", sums, add("Add", add("Mul", add("Abs", sums), 3.0), 3.0))
    return add("Add", add("Gemm", won, signs, losers.sum(axis=0)), ratios)
