"""The methods of a comparison: by default, by name, or a user's estimators.

User estimators get imputed and encoded features; scaling is left to their own pipelines, and their
settings are not tuned.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Literal

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from pliant.core.estimators import BaseEstimator
from pliant.core.text import one_line, printable, quoted, suggest
from pliant.tables.comparison.baselines import BASELINES, available
from pliant.tables.comparison.protocol import BLEND, DUMMY, REFERENCE
from pliant.tables.registry import METHODS, Method

SHOWN = 80
"""Maximum number of characters of a value in a message."""


def named(name: str) -> Method:
    """Return the method or baseline with this name, or raise ValueError with close matches."""
    known = METHODS | BASELINES
    if name in known:
        return known[name]
    raise ValueError(f"unknown method {quoted(name)}; {suggest(name, known)}")


def contenders_for(task: str, n_rows: int, sparse: bool = False) -> list[Method]:
    """Return the default methods for `n_rows` training rows, including installed boosting packages.

    For sparse rows, two more methods take them.

    On 23 tables, blends with a random forest beat blends with extremely randomised trees for
    classification, and lost to them for regression; using both did not improve the blend.
    """
    trees = ["forest"]
    if task == "regression":
        trees = ["extra-trees", "gp" if n_rows <= 1000 else "kernel-ridge"]
    names = ["lab-rbf", REFERENCE, "linear", "boosting", DUMMY, *trees]
    names += [name for name in ("catboost", "xgboost", "lightgbm") if available(named(name))]
    names += ["dank", "sketched-ridge"] if sparse else []
    return [named(name) for name in names]


def methods_of(
    given: Sequence[Any] | Literal["all"] | None, task: str, n_rows: int, sparse: bool = False
) -> list[Method]:
    """Convert method names, `Method` objects, estimators and (name, estimator) pairs to methods.

    None stands for the default methods, "all" for all installed methods. Raises TypeError for any
    other object, and ValueError for an empty list, a duplicate, an unknown name, or an estimator
    that cannot be cloned and pickled.
    """
    if given is None:
        return contenders_for(task, n_rows, sparse)
    if isinstance(given, str) and given == "all":
        known = [*BASELINES.values(), *METHODS.values()]
        return [method for method in known if task in method.tasks and available(method)]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(
            "expected methods to be a list of names and estimators, such as ['lab-rbf', SVC()], "
            f"got {one_line(given, SHOWN)}"
        )
    chosen: dict[str, Method] = {}
    for each in given:
        method = _method_of(each, chosen)
        if method.name in chosen:
            raise ValueError(f"expected each method once, got {quoted(method.name)} twice")
        chosen[method.name] = method
    if not chosen:
        raise ValueError("expected at least one method, got none")
    return list(chosen.values())


def is_given(method: Method) -> bool:
    """Return True if a method wraps a user's estimator."""
    return getattr(method.classifier or method.regressor, "func", None) is clone


def _method_of(given: Any, taken: Collection[str]) -> Method:
    """Convert a method name, a `Method`, an estimator or a (name, estimator) pair to a `Method`.

    An unnamed estimator is named after its class; the second SVC is ``SVC-2``.
    """
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        return named(given)
    if isinstance(given, tuple) and len(given) == 2:
        name, estimator = given
        if not isinstance(name, str) or not name.strip():
            raise TypeError(
                f"expected a string as the name in ('name', estimator), got {one_line(name, SHOWN)}"
            )
        if name in {*METHODS, *BASELINES, BLEND}:
            raise ValueError(f"pliant has a method of the name {quoted(name)}: choose another name")
        return _as_method(estimator, printable(name, SHOWN))
    name = _class_name(given)
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 2))
    return _as_method(given, next(each for each in (name, *numbered) if each not in taken))


def _as_method(given: Any, name: str) -> Method:
    """Wrap an estimator as a method with no grid and no scaling."""
    estimator = _checked(given)
    parameters = estimator.get_params().items()
    seeds = {key: seed for key, seed in parameters if key.rpartition("__")[2] == "random_state"}
    return Method(
        name=name,
        title=name,
        source="",
        classifier=partial(clone, estimator) if is_classifier(estimator) else None,
        regressor=partial(clone, estimator) if is_regressor(estimator) else None,
        grid={},
        max_rows=10_000_000,  # practically unlimited
        summary=f"{_class_name(estimator)}, a user's estimator",
        any_scale=True,
        given={key: seed for key, seed in seeds.items() if seed is not None},
    )


def _checked(given: Any) -> BaseEstimator:
    """Return a clone of an estimator; raise unless it can be cloned and pickled."""
    is_class = isinstance(given, type)
    try:
        learns = not is_class and hasattr(given, "fit") and hasattr(given, "get_params")
        learns = learns and (is_classifier(given) or is_regressor(given))
    except (AttributeError, TypeError, ValueError):
        learns = False
    if not learns:
        hint = f": expected {given.__name__}()" if is_class else ""
        raise TypeError(
            "expected a method name, a classifier or a regressor with scikit-learn's interface, "
            f"or a pair ('name', estimator), got {one_line(given, SHOWN)}{hint}"
        )
    try:
        copy: BaseEstimator = clone(given)
        pickle.dumps(copy)
    except Exception as error:  # user code may raise anything
        reason = printable(" ".join(str(error).split()), 200)
        raise ValueError(
            "expected an estimator that can be cloned and pickled, got "
            f"{one_line(given, SHOWN)}: {reason} (named functions can be pickled, a lambda cannot)"
        ) from None
    return copy


def _class_name(given: object) -> str:
    """Return the class name of an estimator; for a pipeline, the names of its last two steps."""
    if isinstance(given, Pipeline):
        steps = [step for _, step in given.steps if step not in (None, "passthrough")]
        return " + ".join(map(_class_name, steps[-2:]))
    return type(given).__name__
