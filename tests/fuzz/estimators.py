"""Estimators, kernels and measures with random shapes, types, sizes and hyper-parameters.

A fit either raises a one-sentence error from the checks of pliant or scikit-learn, or gives finite
predictions. Warnings must have a class of pliant or scikit-learn. With default
parameters, it takes at most 5 s for each learned function.

`subject` returns the class tested by a seed, so that a campaign can select its seeds.
"""

import inspect
import linecache
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.random import Generator
from scipy.linalg import LinAlgWarning
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

import pliant
from pliant import kernels, methods
from tests.fuzz._estimator_input import (
    REFUSED,
    hyper_parameters,
    labels,
    power,
    some_kernel,
    table,
    targets,
    weights,
)

LONGEST, LONGER = 5.0, 25.0
"""Maximum CPU time in seconds of a fit with default parameters, and with others."""

ENOUGH = 10.0
"""Value of ``max_seconds`` if a case changes the tolerance, the iteration limit or the degree."""

FEWEST_CALIBRATED = 19
"""Minimum number of calibration samples for finite 90 % intervals: 2 / (1 - 0.9) - 1."""

LENGTH = 1000
"""Maximum length of a message."""

ESTIMATORS = tuple(
    getattr(methods, name) for name in methods.__all__ if hasattr(getattr(methods, name), "fit")
)
"""All estimator classes."""

OTHERS = ("kernels",)
"""Other subjects: kernels of two sets of points."""

SUBJECTS = (*(kind.__name__ for kind in ESTIMATORS), *OTHERS)
"""Subjects of the cases, cyclically by seed."""

HOME, SKLEARN_CHECKS = str(Path(pliant.__file__).parent), ("/sklearn/utils/", "/sklearn/base.py")


class Wrong(Exception):
    """The finding of a case."""


class Call(NamedTuple):
    """Result of a call: the value, the expected error, and the CPU time in seconds."""

    value: Any
    refused: Exception | None
    seconds: float


def subject(seed: int) -> str:
    """Return the name of the class or other subject tested by a seed."""
    return SUBJECTS[seed % len(SUBJECTS)]


def case(seed: int, folder: Path) -> str | None:
    """Fit an estimator and predict, or call a function; return the finding or None."""
    rng = np.random.default_rng(seed)
    name = subject(seed)
    others = {"kernels": _kernels}
    try:
        if name in others:
            others[name](rng)
        else:
            _estimator(rng, getattr(methods, name))
    except Wrong as wrong:
        kind, _, what = str(wrong).partition(": ")
        return f"{kind}: {name} {what}"
    return None


def call(what: str, function: Callable[..., Any], *given: Any, **named: Any) -> Call:
    """Call a function; raise `Wrong` for an unexpected error or warning."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        try:
            value = function(*given, **named)
        except Exception as raised:
            error = raised
        seconds = time.process_time() - began
    if error is not None:
        _judge_error(what, error)
    for warning in caught:
        _judge_warning(what, warning)
    return Call(value, error, seconds)


def _judge_error(what: str, error: Exception) -> None:
    """Raise `Wrong` unless an error comes from the checks of pliant or scikit-learn."""
    frames = traceback.extract_tb(error.__traceback__)
    last, text = frames[-1], str(error)
    ours = last.filename.startswith(HOME)
    stated = linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise")
    checked = any(part in last.filename for part in SKLEARN_CHECKS)
    named = type(error) in (ValueError, TypeError)
    named |= type(error).__module__.startswith(("pliant", "sklearn.exceptions"))
    place = f"{Path(last.filename).name}:{last.lineno}"
    if not named or not (checked or (ours and stated)):
        mine = next((f for f in reversed(frames) if f.filename.startswith(HOME)), last)
        at = f"{Path(mine.filename).name}:{mine.lineno}"
        raise Wrong(f"raw error: {what} {type(error).__name__} at {at} ({place}): {text[:200]}")
    if ours and (not text or len(text) > LENGTH or "\n" in text.strip()):
        raise Wrong(f"no sentence: {what} {type(error).__name__} at {place}: {text[:200]!r}")


def _judge_warning(what: str, warning: warnings.WarningMessage) -> None:
    """Raise `Wrong` unless the class of a warning is from pliant or scikit-learn."""
    category, text = warning.category, str(warning.message)
    if category.__module__.startswith(("pliant", "sklearn.exceptions")):
        return
    advice = text.startswith(("The number of unique classes", "X has feature names", "X does not"))
    if category is UserWarning and advice:  # raised by scikit-learn
        return
    if category is LinAlgWarning and "has a condition number of" in text:
        return  # `pliant.core.linalg` issues this documented warning for a solved system
    at = f"{Path(warning.filename).name}:{warning.lineno}"
    raise Wrong(f"raw warning: {what} {category.__name__} at {at}: {text[:200]}")


def _check_finite(what: str, values: Any, shape: tuple[int | None, ...] | None = None) -> None:
    """Raise `Wrong` unless values are finite and have a shape; None stands for any length."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise Wrong(f"type: {what} gave {values.dtype}")
    if not np.isfinite(values).all():
        odd = values[~np.isfinite(values)][0]
        raise Wrong(f"not finite: {what} gave {odd}")
    fits = shape is None or (
        len(shape) == values.ndim
        and all(a is None or a == b for a, b in zip(shape, values.shape, strict=True))
    )
    if not fits:
        raise Wrong(f"shape: {what} gave {values.shape}, not {shape}")


def _estimator(rng: Generator, kind: type) -> None:
    """Fit an estimator and predict."""
    X = table(rng)
    n, d = X.shape
    settings = hyper_parameters(rng, kind, d)
    y = (targets if is_regressor(kind()) else labels)(rng, n, X)
    given = {}
    if "sample_weight" in inspect.signature(kind.fit).parameters and rng.random() < 0.25:
        given["sample_weight"] = weights(rng, n)
    X = _precomputed(rng, X, settings)
    asked = {"tol", "max_iter", "degree"} & settings.keys()
    if asked and "max_seconds" in inspect.signature(kind).parameters:
        settings.setdefault("max_seconds", ENOUGH)
    model = _fitted(kind, settings, X, y, given)
    if model is not None:
        _use(rng, model, X, y, pairwise=_is_pairwise(settings))


def _is_pairwise(settings: dict[str, Any]) -> bool:
    kernel = settings.get("kernel")
    return isinstance(kernel, str) and kernel == "precomputed"


def _precomputed(rng: Generator, X: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    """Return X, or a square matrix if the kernel is precomputed."""
    if not _is_pairwise(settings) or rng.random() < 0.1:
        return X
    return gram_matrix(rng, X)


def gram_matrix(rng: Generator, X: np.ndarray) -> np.ndarray:
    """Return a matrix for "precomputed" kernels, mostly a Gram matrix."""
    with np.errstate(all="ignore"):
        gram = X @ X.T
        sort = rng.integers(8)
        if sort < 3:
            gram = np.exp(-np.maximum(((X[:, None] - X) ** 2).sum(axis=2), 0.0))
        elif sort == 3:
            gram = gram * power(rng, 0.0)
        elif sort == 4:
            gram = gram + rng.standard_normal(gram.shape) * rng.choice([1e-12, 1e-6, 1.0])
        elif sort == 5:
            gram = -gram
    return np.nan_to_num(gram) if rng.random() < 0.9 else gram


def _fitted(kind: type, settings: dict[str, Any], X: Any, y: Any, given: dict[str, Any]) -> Any:
    """Return a fitted estimator, or None if the fit raised an expected error."""
    what = "fit"
    for again in (False, True):
        made = call("constructor", kind, **settings)
        outcome = call(what, made.value.fit, X, y, **given)
        limit = LONGEST if settings.keys() <= {"random_state"} else LONGER
        limit *= len(getattr(made.value, "estimators_", [made.value]))  # one for each class pair
        if outcome.seconds <= limit:
            break
        if again:  # the first fit may include compilation
            raise Wrong(f"slow: fit took {outcome.seconds:.0f} s with {settings!r:.200}")
    if outcome.refused is None:
        return made.value
    if hasattr(made.value, "n_iter_") or hasattr(made.value, "kernel_"):
        raise Wrong("state: fit raised an error and left an estimator that looks fitted")
    return None


def queries(rng: Generator, X: np.ndarray) -> list[tuple[str, Any, bool]]:
    """Return query points: a name, the points, and True if they must be rejected."""
    d = X.shape[1]
    signs = rng.choice([-1.0, 1.0], (3, d))
    far = float(rng.choice([1e300, 1.7e308, 1e160, 1e80, 1e20]))
    some = [
        ("far", signs * far, False),
        ("tiny", signs * 1e-300, False),
        ("zeros", np.zeros((2, d)), False),
        ("one", X[:1].copy(), False),
        ("float32", np.clip(X, -3e38, 3e38).astype(np.float32), False),
        ("narrow", np.zeros((2, d + 1)), True),
        ("nan", np.full((2, d), np.nan), True),
        ("empty", np.zeros((0, d)), False),
        ("mixed", np.where(rng.random((4, d)) < 0.5, signs[:1], far), False),
    ]
    chosen = rng.choice(len(some), size=3, replace=False)
    return [some[int(k)] for k in chosen]


OUTPUTS = ("predict", "decision_function", "predict_proba", "score_samples", "transform")


def _use(rng: Generator, model: Any, X: np.ndarray, y: Any, *, pairwise: bool) -> None:
    """Predict on the training points and on other points, and call ``summary``."""
    sets = [("train", X, False), *([] if pairwise else queries(rng, X))]
    for name, points, must_refuse in sets:
        for method in OUTPUTS:
            if not _has(model, method):
                continue
            what = f"{method} {name}"
            outcome = call(what, getattr(model, method), points)
            if outcome.refused is not None:
                continue
            if must_refuse and X.shape[1]:
                raise Wrong(f"accepted: {what}")
            _check_output(what, model, method, outcome.value)
        _check_further(model, name, points)
    if _has(model, "score"):
        outcome = call("score", model.score, X, y)
        if outcome.refused is None:
            _check_finite("score", outcome.value, ())
    call("summary", model.summary) if hasattr(model, "summary") else None
    call("repr", repr, model)


def _has(model: Any, method: str) -> bool:
    try:
        return hasattr(model, method)
    except (ValueError, TypeError):  # the nested estimator lacks the method
        return False


def _check_output(what: str, model: Any, method: str, values: Any) -> None:
    """Raise `Wrong` unless an output is finite, or consists of known classes."""
    classes = getattr(model, "classes_", None)
    if method == "predict" and is_classifier(model):
        odd = [value for value in np.asarray(values).tolist() if value not in classes.tolist()]
        if odd:
            raise Wrong(f"not a class: {what} gave {odd[0]!r}")
        return
    _check_finite(what, values.toarray() if scipy.sparse.issparse(values) else values)
    if method == "predict" and is_outlier_detector(model) and set(np.unique(values)) - {-1, 1}:
        raise Wrong(f"not a class: {what} gave {np.unique(values)}")
    if method == "predict_proba":
        within = (values >= 0).all() and np.allclose(values.sum(axis=1), 1.0)
        if not within:
            raise Wrong(f"no probabilities: {what} gave rows with the sum {values.sum(axis=1)}")


def _check_further(model: Any, name: str, points: Any) -> None:
    """Check the outputs of special estimators, and the learned kernel."""
    if _has(model, "predict_interval"):
        outcome = call(f"predict_interval {name}", model.predict_interval, points)
        if outcome.refused is None and not _is_unbounded(model, outcome.value):
            _check_finite(f"predict_interval {name}", outcome.value)
    if "return_std" in inspect.signature(getattr(model, "predict", len)).parameters:
        outcome = call(f"predict std {name}", model.predict, points, return_std=True)
        if outcome.refused is None:
            _check_finite(f"predict std {name}", np.array(outcome.value))
    kernel = getattr(model, "kernel_", None)
    vectors = getattr(model, "support_vectors_", None)
    if isinstance(kernel, kernels.Kernel) and vectors is not None and len(vectors):
        outcome = call(f"kernel_ {name}", kernel, points, vectors)
        if outcome.refused is None:
            _check_finite(f"kernel_ {name}", outcome.value, (None, len(vectors)))


def _is_unbounded(model: Any, ends: np.ndarray) -> bool:
    """Return True if intervals are infinite because of too few calibration samples."""
    errors = model.error_model_
    few = errors.exact and len(errors.errors) < FEWEST_CALIBRATED
    return few and bool((ends[..., 0] == -np.inf).all() and (ends[..., 1] == np.inf).all())


def _kernels(rng: Generator) -> None:
    """Evaluate a kernel on two sets of points."""
    X = table(rng)
    Y = table(rng, d=X.shape[1] if rng.random() < 0.9 else None) if rng.random() < 0.6 else None
    kernel = some_kernel(rng, X.shape[1])
    if rng.random() < 0.2:
        names = list(kernel.get_params(deep=False))
        if names and (name := str(rng.choice(names))) not in ("left", "right", "kernel"):
            kernel.set_params(**{name: REFUSED[rng.integers(len(REFUSED))]})
    what = type(kernel).__name__
    for name, function, points in (
        ("call", kernel, (X, Y)),
        ("diag", kernel.diag, (X,)),
        ("repr", repr, (kernel,)),
    ):
        outcome = call(f"{what} {name}", function, *points)
        if outcome.refused is None and name != "repr":
            _check_finite(f"{what} {name}", outcome.value)
