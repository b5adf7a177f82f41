"""Methods of a comparison from estimators that the user gives: fitted as they are in each fold.

Such an estimator gets numbers: missing values are filled in and text is encoded, where the table
has any. Features and target are not scaled, since its own pipeline may do that; nothing is
searched, unless the estimator is a search such as ``GridSearchCV``.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from pliant.comparison.contenders import BASELINES, contenders_for, installed_for, named
from pliant.core.text import printable, quoted
from pliant.registry import METHODS, Method

MOST_ROWS = 10_000_000
"""The most rows of an estimator that the user gives: it is for the user to know."""

NAMED_STEPS = 2
"""The last steps of a pipeline that its name has."""


@dataclass(frozen=True, eq=False)
class _Copies:
    """Makes copies of an estimator, not fitted."""

    estimator: Any

    def __call__(self) -> Any:
        return clone(self.estimator)


def methods_of(
    given: Sequence[Any] | Literal["all"] | None, task: str, n_rows: int
) -> list[Method]:
    """Return methods from names, methods, estimators, and pairs of a name and an estimator.

    None stands for the contenders of a race, "all" for all methods that are installed.

    Raises
    ------
    ValueError
        If there is none, one is given twice, a name is unknown, or an estimator cannot be copied
        or sent to another process.
    TypeError
        If an object is none of these.
    """
    if given is None:
        return contenders_for(task, n_rows)
    if isinstance(given, str) and given == "all":
        return installed_for(task)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(
            "expected methods to be a list of names and estimators, such as ['lab-rbf', SVC()], "
            f"got {_shown(given)}"
        )
    chosen: list[Method] = []
    for each in given:
        chosen.append(_method_of(each, [method.name for method in chosen]))
    names = [method.name for method in chosen]
    if not names:
        raise ValueError("expected at least one method, got none")
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"expected each method once, got {quoted(repeated[0])} twice")
    return chosen


def is_given(method: Method) -> bool:
    """Return whether a method is an estimator that the user gave."""
    return isinstance(method.classifier or method.regressor, _Copies)


def _method_of(given: Any, taken: Sequence[str]) -> Method:
    """Return the method that a name, a method, an estimator or a pair stands for."""
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        return named(given)
    if isinstance(given, tuple) and len(given) == 2:
        name, estimator = given
        return _wrapped(_checked(estimator), _own_name(name))
    return _wrapped(_checked(given), _free_name(_class_name(given), taken))


def _wrapped(estimator: Any, name: str) -> Method:
    """Return an estimator as a method without a grid, which takes features as they are."""
    copies = _Copies(estimator)
    return Method(
        name=name,
        title=name,
        paper="",
        classifier=copies if is_classifier(estimator) else None,
        regressor=copies if is_regressor(estimator) else None,
        grid={},
        max_rows=MOST_ROWS,
        summary=f"{_class_name(estimator)}, as it was given",
        streams=True,
        given=_own_seeds(estimator),
    )


def _checked(estimator: Any) -> Any:
    """Return an estimator that can be copied and sent to another process, or raise an error."""
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and _is_learner(estimator)):
        hint = f": expected {estimator.__name__}()" if isinstance(estimator, type) else ""
        raise TypeError(
            "expected a method as its name, a classifier or a regressor with scikit-learn's "
            f"interface, or a pair ('name', estimator), got {_shown(estimator)}{hint}"
        )
    try:
        copy = clone(estimator)
        pickle.dumps(copy)
    except Exception as error:  # whatever the constructor or the parameters of others raise
        reason = printable(" ".join(str(error).split()), 200)
        raise ValueError(
            f"expected an estimator that can be cloned and pickled, got {_shown(estimator)}: "
            f"{reason} (a named function can be pickled, a lambda cannot)"
        ) from None
    return copy


def _is_learner(estimator: Any) -> bool:
    """Return whether this is a classifier or a regressor of scikit-learn's interface."""
    try:
        return hasattr(estimator, "get_params") and (
            is_classifier(estimator) or is_regressor(estimator)
        )
    except (AttributeError, TypeError, ValueError):
        return False


def _own_seeds(estimator: Any) -> dict[str, Any]:
    """Return the seeds that the user has set; the seed of the cell decides all others."""
    parameters = estimator.get_params().items()
    seeds = {k: value for k, value in parameters if k.rpartition("__")[2] == "random_state"}
    return {name: value for name, value in seeds.items() if value is not None}


def _class_name(estimator: Any) -> str:
    """Return the name of a class; of a pipeline, the names of its last steps."""
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        return " + ".join(map(_class_name, steps[-NAMED_STEPS:]))
    return type(estimator).__name__


def _free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name that is not taken: the second SVC is ``SVC-2``."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def _own_name(name: Any) -> str:
    """Return a name that the user chose."""
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"expected a pair ('name', estimator), got the name {_shown(name)}")
    if name in METHODS | BASELINES:
        raise ValueError(f"{quoted(name)} is the name of a method of pliant: choose another one")
    return printable(name, 80)


def _shown(value: Any) -> str:
    """Return a value in a few words."""
    return printable(" ".join(repr(value).split()), 80)
