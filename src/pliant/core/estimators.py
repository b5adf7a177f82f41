"""What estimators take from scikit-learn, with type annotations, which scikit-learn lacks.

In a process that only predicts, `pliant.core.bare` replaces it; see `pliant.core.process`.
"""

# ruff: noqa: D102
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pliant.core import process

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    class BaseEstimator:
        """Base class of estimators: constructor parameters and copies."""

        n_features_in_: int
        feature_names_in_: npt.NDArray[np.object_]

        def __repr__(self, N_CHAR_MAX: int = 700) -> str: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...

    class ClassifierMixin:
        """Add `score`, the accuracy."""

        def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float: ...

    class RegressorMixin:
        """Add `score`, the coefficient of determination R2."""

        def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float: ...

    class TransformerMixin:
        """Add `fit_transform` and `set_output`."""

        def fit_transform(self, X: Any, y: Any = None) -> Any: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...

    class MultiOutputMixin:
        """Declare support for several outputs."""

    class ClassNamePrefixFeaturesOutMixin:
        """Name the output features after the class, with a number."""

        def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]: ...

    class ConvergenceWarning(UserWarning):
        """A solver has stopped before it converged."""

    class available_if:
        """Decorate a method that exists only if a function of the estimator returns True."""

        def __init__(self, check: Callable[[Any], bool]) -> None: ...
        def __call__(self, method: Callable[..., Any]) -> Any: ...

elif process.BARE:
    from pliant.core.bare import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ConvergenceWarning,
        MultiOutputMixin,
        RegressorMixin,
        TransformerMixin,
        available_if,
    )
else:
    import sklearn.base
    from sklearn.base import (  # noqa: F401
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        MultiOutputMixin,
        RegressorMixin,
    )
    from sklearn.exceptions import ConvergenceWarning  # noqa: F401
    from sklearn.utils.metaestimators import available_if  # noqa: F401

    from pliant.core.state import reads

    class TransformerMixin(sklearn.base.TransformerMixin):
        """scikit-learn's mixin, whose ``transform`` reads one state of the model."""

        def __init_subclass__(cls, **options):
            super().__init_subclass__(**options)
            if "transform" in vars(cls):  # with the names of `set_output`
                cls.transform = reads(cls.transform)


def clone(estimator: Any) -> Any:
    """Return an unfitted copy of an estimator, with copies of its parameters."""
    from sklearn.base import clone

    return clone(estimator)


def is_classifier(estimator: Any) -> bool:
    """Return True for a classifier."""
    if process.BARE:
        return isinstance(estimator, ClassifierMixin)
    from sklearn.base import is_classifier

    return bool(is_classifier(estimator))


def check_is_fitted(estimator: Any, attribute: str | None = None) -> None:
    """Raise NotFittedError unless an estimator is fitted, or has a fitted attribute."""
    state = vars(estimator)
    if process.BARE and (attribute is None or attribute in state):
        return  # a file contains fitted models
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator, attribute)


class NestedSettings(BaseEstimator):
    """Estimator with a parameter that is an object with settings of its own.

    ``set_params(algorithm__linear=True)`` works while the parameter has another value, such as its
    default: `_settings` maps the parameter to a function that makes the object from that value.
    """

    _settings: ClassVar[Mapping[str, Callable[[Any], BaseEstimator]]] = {}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of settings, such as ``algorithm__linear``.

        Returns
        -------
        self
        """
        for name, make in self._settings.items():
            nested = {key: v for key, v in params.items() if key.startswith(f"{name}__")}
            value = params.get(name, getattr(self, name))
            if nested and not isinstance(value, BaseEstimator):
                own = {key.removeprefix(f"{name}__"): v for key, v in nested.items()}
                made = make(value).set_params(**own)
                params = {key: v for key, v in params.items() if key not in nested} | {name: made}
        return super().set_params(**params)
