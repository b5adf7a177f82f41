"""Methods of a comparison from names and from estimators, which are fitted as they are.

An estimator gets numbers: missing values are filled in and text is encoded, where the table has
any. Features and target are not scaled, since its own pipeline may do that; nothing is searched,
unless the estimator is a search such as ``GridSearchCV``.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from pliant.comparison.contenders import BASELINES, available, contenders_for, named
from pliant.core.text import one_line, printable, quoted
from pliant.registry import METHODS, Method

MOST_ROWS = 10_000_000
"""The most rows of an estimator that the user gives: it is for the user to know."""

NAMED_STEPS = 2
"""The last steps of a pipeline that its name has."""

SHOWN = 80
"""Characters of a value in a message."""


def methods_of(
    given: Sequence[Any] | Literal["all"] | None, task: str, n_rows: int
) -> list[Method]:
    """Return methods from names, methods, estimators, and pairs of a name and an estimator.

    None stands for the contenders of a race, "all" for all methods that are installed. Raises
    TypeError if an object is none of these; ValueError if there is none, one is given twice, a name
    is unknown, or an estimator cannot be copied or sent to another process.
    """
    if given is None:
        return contenders_for(task, n_rows)
    if isinstance(given, str) and given == "all":
        known = [*BASELINES.values(), *METHODS.values()]
        return [method for method in known if task in method.tasks and available(method)]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(
            "expected methods to be a list of names and estimators, such as ['lab-rbf', SVC()], "
            f"got {one_line(given, SHOWN)}"
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
    return getattr(method.classifier or method.regressor, "func", None) is clone


def _method_of(given: Any, taken: Sequence[str]) -> Method:
    """Return the method that a name, a method, an estimator or a pair stands for.

    An estimator without a name gets that of its class; the second SVC is ``SVC-2``.
    """
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        return named(given)
    if isinstance(given, tuple) and len(given) == 2:
        name, estimator = given
        return _wrapped(_checked(estimator), _checked_name(name))
    estimator, name = _checked(given), _class_name(given)
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 2))
    return _wrapped(estimator, next(each for each in (name, *numbered) if each not in taken))


def _wrapped(estimator: Any, name: str) -> Method:
    """Return an estimator as a method without a grid, which takes features as they are."""
    parameters = estimator.get_params().items()
    seeds = {key: seed for key, seed in parameters if key.rpartition("__")[2] == "random_state"}
    return Method(
        name=name,
        title=name,
        paper="",
        classifier=partial(clone, estimator) if is_classifier(estimator) else None,
        regressor=partial(clone, estimator) if is_regressor(estimator) else None,
        grid={},
        max_rows=MOST_ROWS,
        summary=f"{_class_name(estimator)}, as it was given",
        streams=True,
        given={key: seed for key, seed in seeds.items() if seed is not None},
    )


def _checked(estimator: Any) -> Any:
    """Return an estimator that can be copied and sent to another process, or raise an error."""
    is_class = isinstance(estimator, type)
    try:
        learns = not is_class and hasattr(estimator, "fit") and hasattr(estimator, "get_params")
        learns = learns and (is_classifier(estimator) or is_regressor(estimator))
    except (AttributeError, TypeError, ValueError):
        learns = False
    if not learns:
        hint = f": expected {estimator.__name__}()" if is_class else ""
        raise TypeError(
            "expected a method as its name, a classifier or a regressor with scikit-learn's "
            f"interface, or a pair ('name', estimator), got {one_line(estimator, SHOWN)}{hint}"
        )
    try:
        copy = clone(estimator)
        pickle.dumps(copy)
    except Exception as error:  # whatever the constructor or the parameters of others raise
        reason = printable(" ".join(str(error).split()), 200)
        raise ValueError(
            "expected an estimator that can be cloned and pickled, got "
            f"{one_line(estimator, SHOWN)}: {reason} (a named function can be pickled, a lambda "
            "cannot)"
        ) from None
    return copy


def _class_name(estimator: Any) -> str:
    """Return the name of a class; of a pipeline, the names of its last steps."""
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        return " + ".join(map(_class_name, steps[-NAMED_STEPS:]))
    return type(estimator).__name__


def _checked_name(name: Any) -> str:
    """Return a name that the user chose, or raise an error."""
    if not isinstance(name, str) or not name.strip():
        raise TypeError(
            f"expected a pair ('name', estimator), got the name {one_line(name, SHOWN)}"
        )
    if name in METHODS | BASELINES:
        raise ValueError(f"{quoted(name)} is the name of a method of pliant: choose another one")
    return printable(name, SHOWN)
