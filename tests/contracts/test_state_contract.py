"""An estimator that fails or is interrupted is the old model, or says that it is not fitted."""

import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_regressor
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

import pliant
from pliant import LABRBFAlgorithm
from tests.contracts.discovery import ESTIMATORS, constraints_of

GIVEN = pliant.SCGLogDetLearner(strength=100.0)
LOCAL = {"n_members": 2, "max_iter": 1, "algorithm": LABRBFAlgorithm(initial_bandwidth=1.0)}

QUICK = {
    "KernelEmbedding": {"learner": GIVEN, "betas": [1.0]},
    "LABRBFClassifier": LOCAL,
    "LABRBFPaperRegressor": {"max_iter": 2},
    "LABRBFRegressor": {**LOCAL, "calibration": 0.2},
    "LearnedKernelClassifier": {"learner": GIVEN},
    "LogDetLearner": {"max_pairs": 100},
    "MKLClassifier": {"kernels": ["linear", "gaussian"]},
    "MKLRegressor": {"kernels": ["linear", "gaussian"]},
    "SCGLogDetLearner": {"strength": 100.0},
    "TKLClassifier": {"tol": 0.1},
    "TKLRegressor": {"tol": 0.1},
}
"""Parameters that make fits faster."""

LEARNERS = [kind for kind in ESTIMATORS if hasattr(kind, "fit_gram")]

UPDATES = [
    *((kind, "fit", {}) for kind in ESTIMATORS),
    *((kind, "fit_gram", {}) for kind in LEARNERS),
    *((kind, "fit_transform", {}) for kind in [*LEARNERS, pliant.TableFeatures]),
    (pliant.LABRBFClassifier, "fit", {"warm_start": True}),
    (pliant.LABRBFRegressor, "fit", {"warm_start": True, "calibration": None}),
    (pliant.LABRBFClassifier, "refit_coefficients", {}),
    (pliant.LABRBFRegressor, "refit_coefficients", {}),
    (pliant.LABRBFRegressor, "calibrate", {}),
]
"""Classes with methods that change a model, and parameters."""


def named(update):
    kind, method, parameters = update
    return "-".join([kind.__name__, method, *parameters])


def estimator(kind, parameters=()):
    """Return an estimator with few steps."""
    model = kind(**QUICK.get(kind.__name__, {}))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model.set_params(**dict(parameters))


def data(kind, seed):
    """Return points and targets."""
    X, y = make_classification(24, 4, class_sep=2.0, random_state=seed)
    return X, X[:, 0] + X[:, 1] ** 2 if is_regressor(kind()) else y


def outputs(model, X):
    """Return all that a model says of some points."""
    if isinstance(model, pliant.TableFeatures):
        X = np.where(X > 0, X, np.nan)  # the output has the medians of the training points
    names = ("predict", "decision_function", "transform", "predict_second")
    found = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    if getattr(model, "error_model_", None) is not None:
        found.append(model.predict_interval(X))
    return found


def identities(model):
    """Return the identity of each attribute."""
    return {name: id(value) for name, value in vars(model).items()}


def equal(one, other):
    """Compare arrays, of which nan says that there is no value."""
    one, other = np.asarray(one), np.asarray(other)
    return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")


def same(one, other):
    return len(one) == len(other) and all(map(equal, one, other))


def change(model, method, given, monkeypatch, interrupted=None):
    """Call a method; interrupt it at a store of a fitted attribute, or return their number."""
    count = 0

    def store(owner, name, value):
        nonlocal count
        if name.endswith("_") and type(owner).__module__.startswith("pliant"):
            count += 1
            if count == interrupted:
                raise KeyboardInterrupt
        object.__setattr__(owner, name, value)

    with monkeypatch.context() as patch:
        patch.setattr(BaseEstimator, "__setattr__", store, raising=False)
        getattr(model, method)(*given)
    return count


@pytest.mark.filterwarnings("ignore")  # few steps do not converge
@pytest.mark.parametrize("update", UPDATES, ids=named)
def test_an_interrupt_at_any_store_leaves_the_old_model(update, monkeypatch):
    kind, method, parameters = update
    (X, y), new = data(kind, seed=0), data(kind, seed=1)
    model = estimator(kind, parameters).fit(X, y)
    before, old = identities(model), outputs(model, X)
    count = change(estimator(kind, parameters).fit(X, y), method, new, monkeypatch)
    assert count > 0
    for k in range(1, count + 1):
        with pytest.raises(KeyboardInterrupt):
            change(model, method, new, monkeypatch, interrupted=k)
        assert identities(model) == before
        assert same(outputs(model, X), old)
    change(model, method, new, monkeypatch)
    assert not same(outputs(model, X), old)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_interrupt_at_any_store_leaves_an_estimator_that_is_not_fitted(kind, monkeypatch):
    X, y = data(kind, seed=0)
    method = "predict" if hasattr(kind, "predict") else "transform"
    model, k = estimator(kind), 1
    parameters = vars(model).keys()
    for k in range(1, change(estimator(kind), "fit", (X, y), monkeypatch) + 1):
        with pytest.raises(KeyboardInterrupt):
            change(model, "fit", (X, y), monkeypatch, interrupted=k)
        assert vars(model).keys() == parameters
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)


def wrong_calls(kind, X, y):
    """Return arguments that every method refuses."""
    calls = [(X[:, :, None], y), (X[:0], y[:0])]
    if kind is not pliant.TableFeatures:  # it takes gaps, and needs no target
        missing = np.arange(len(y)) == 3
        calls += [(np.where(missing[:, None], np.inf, X), y)]
        calls += [(X, np.where(missing, np.nan, y)), (X, y[:-1])]
    return calls


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("update", UPDATES, ids=named)
def test_a_call_that_fails_leaves_the_old_model(update):
    kind, method, parameters = update
    X, y = data(kind, seed=0)
    model = estimator(kind, parameters).fit(X, y)
    old = outputs(model, X)
    for call in wrong_calls(kind, X, y):
        with pytest.raises((ValueError, TypeError)):
            getattr(model, method)(*call)
        assert same(outputs(model, X), old)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_fit_with_a_wrong_parameter_leaves_the_old_model(kind):
    X, y = data(kind, seed=0)
    model = estimator(kind).fit(X, y)
    old, valid = outputs(model, X), model.get_params(deep=False)
    name = next(iter(constraints_of(kind) or valid))
    with pytest.raises((ValueError, TypeError)):
        model.set_params(**{name: object()}).fit(X, y)
    assert same(outputs(model.set_params(**{name: valid[name]}), X), old)


READS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_interval",
    "transform",
    "explain",
)
"""Methods that read a model at points."""


def values_of(model, name, X):
    """Return what a method or a property says, as a list of arrays, or the kind of its error."""
    try:
        value = getattr(model, name)
        value = value(X) if name in READS else value() if callable(value) else value
    except (AttributeError, ValueError) as error:
        return type(error)
    if hasattr(value, "functions"):
        value = [(each.n_support, each.n_iter, each.objective) for each in value.functions]
    if hasattr(value, "columns"):
        value = [value.to_numpy(), value.columns.to_numpy(str)]
    value = getattr(value, "prediction", value)
    return value if isinstance(value, list) else [np.asarray(value)]


def swapped(model, state, event, name, X):
    """Call `values_of`, and replace the state of the model at an event, the entry of a function."""
    count = 0

    def profile(_, kind, __):
        nonlocal count
        if kind == "call":
            count += 1
            if count == event:
                model.__dict__ = state

    sys.setprofile(profile)
    try:
        found = values_of(model, name, X)
    finally:
        sys.setprofile(None)
    return found, count


def is_like(found, known):
    return found is known or (
        isinstance(found, list) and isinstance(known, list) and same(found, known)
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_model_that_changes_during_a_call_gives_values_of_one_model(kind):
    (X, y), (_, other) = data(kind, seed=0), data(kind, seed=1)
    first = estimator(kind).fit(X, y)
    if not is_regressor(first):
        other = np.where(X[:, 2] > 0.5, 2, other)
    second = estimator(kind).fit(X[:20] - 1.0, other[:20])
    properties = [
        name
        for name in dir(kind)
        if name.endswith("_") and name[0] != "_" and isinstance(getattr(kind, name), property)
    ]
    for each in (first, second):
        if hasattr(each, "set_output"):
            each.set_output(transform="pandas")
    states = dict(vars(first)), dict(vars(second))
    for name in (*READS, "summary", *properties):
        if not hasattr(kind, name) or name in ("kernel_", "symmetric_kernel_", "adaptation_"):
            continue  # a kernel is one object
        known = [values_of(each, name, X) for each in (first, second)]
        model = estimator(kind)
        model.__dict__ = dict(states[0])
        _, total = swapped(model, states[1], -1, name, X)
        for event in np.unique(np.linspace(1, total, 12).astype(int)):
            model.__dict__ = dict(states[0])
            found, _ = swapped(model, states[1], event, name, X)
            assert any(is_like(found, each) for each in known), (name, event, total)
