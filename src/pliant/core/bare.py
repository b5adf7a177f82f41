"""Base classes of estimators that predict in a process without scikit-learn.

They have the part of scikit-learn's interface that a loaded model needs: parameters, and pipelines
that predict. `pliant.core.estimators` chooses between them and scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from types import MethodType
from typing import Any, Self

from pliant.core.state import reads


class BaseEstimator:
    """Constructor parameters of an estimator."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, sorted."""
        if cls.__init__ is object.__init__:
            return []
        return sorted(name for name in signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep`, also those of nested estimators."""
        values: dict[str, Any] = {}
        for name in self._get_param_names():
            values[name] = value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                values |= {f"{name}__{inner}": each for inner, each in value.get_params().items()}
        return values

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, without those of nested ones."""
        for name, value in params.items():
            if name not in self._get_param_names():
                raise ValueError(f"expected a parameter of {type(self).__name__}, got {name!r}")
            setattr(self, name, value)
        return self


class ClassifierMixin:
    """Mark a classifier."""


class RegressorMixin:
    """Mark a regressor."""


class MultiOutputMixin:
    """Mark an estimator of several outputs."""


class ClassNamePrefixFeaturesOutMixin:
    """Mark a transformer whose outputs have numbers."""


class TransformerMixin:
    """A transformer, whose ``transform`` reads one state of the model."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "transform" in vars(cls):
            cls.transform = reads(vars(cls)["transform"])  # type: ignore[attr-defined]


class ConvergenceWarning(UserWarning):
    """A solver has stopped before it converged."""


class available_if:
    """Decorate a method that exists only if a function of the estimator returns True."""

    def __init__(self, check: Callable[[Any], bool]) -> None:
        self._check = check

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Return the decorated method."""
        return _Available(method, self._check)


class _Available:
    """A method with a condition."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool]) -> None:
        self._method, self._check = method, check
        self.__doc__ = method.__doc__

    def __get__(self, owner: Any, kind: type[Any] | None = None) -> Any:
        if owner is None:
            return self._method
        if not self._check(owner):
            name = self._method.__name__
            raise AttributeError(f"this {type(owner).__name__} has no attribute {name!r}")
        return MethodType(self._method, owner)


def _last_has(name: str) -> Callable[[Any], bool]:
    return lambda pipeline: hasattr(pipeline[-1], name)


class Pipeline(BaseEstimator):
    """Transformers and a last estimator, in the names of scikit-learn's class."""

    def __init__(
        self, steps: Any, *, transform_input: Any = None, memory: Any = None, verbose: bool = False
    ) -> None:
        self.steps = steps
        self.transform_input = transform_input
        self.memory = memory
        self.verbose = verbose

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, place: Any) -> Any:
        return type(self)(self.steps[place]) if isinstance(place, slice) else self.steps[place][1]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> Any:
        """The classes of the last step."""
        return self[-1].classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features of the first step."""
        return int(self[0].n_features_in_)

    def _before_last(self, X: Any) -> Any:
        """Return the rows as the last step takes them."""
        for _, step in self.steps[:-1]:
            X = step.transform(X)
        return X

    @available_if(_last_has("transform"))
    def transform(self, X: Any) -> Any:
        """Return the rows after all steps."""
        return self[-1].transform(self._before_last(X))

    @available_if(_last_has("predict"))
    def predict(self, X: Any) -> Any:
        """Return the predictions of the last step."""
        return self[-1].predict(self._before_last(X))

    @available_if(_last_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities by the last step."""
        return self[-1].predict_proba(self._before_last(X))

    @available_if(_last_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the decision values of the last step."""
        return self[-1].decision_function(self._before_last(X))

    def _validate_names(self, names: list[str]) -> None:
        """Raise ValueError for names of steps that scikit-learn refuses."""
        if len(set(names)) != len(names):
            raise ValueError(f"expected distinct names of steps, got {names!r:.80}")
        if wrong := [name for name in names if name in self._get_param_names() or "__" in name]:
            raise ValueError(f"expected a name of a step without '__', got {wrong[0]!r:.80}")
