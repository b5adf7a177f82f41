"""Validate parameters; each error states the expectation and the value."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from pliant.core.text import close_names, one_line

MODERATE = 1e-12, 1e12
"""Range of the parameters that weigh one term against another, such as C, alpha, gamma and eta."""

MOST_JOBS = 1024
"""Maximum number of threads or processes; joblib would start any number of them at once."""

Constraint: TypeAlias = Callable[[str, Any], object]
"""A check called with the name and the value of a parameter. Each estimator has a table of
constraints next to its signature."""


def check_real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    infinite: bool = False,
) -> float:
    """Return `value` as a float > `above`, or from `least` to `most`; `infinite` allows inf."""
    bound = f" > {above:g}" if above is not None else f" >= {least:g}" if least is not None else ""
    bound += f", a {'' if infinite else 'finite '}number"
    if most is not None:
        bound = f" from {least:g} to {most:g}{', or inf' if infinite else ''}".replace("e+", "e")
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        with suppress(OverflowError):
            number = float(value)
    fits = (
        not math.isnan(number)
        and (infinite or math.isfinite(number))
        and (above is None or number > above)
        and (least is None or number >= least)
        and (most is None or number <= most or number == math.inf)
    )
    if not fits:
        raise ValueError(f"expected {name}{bound}, got {one_line(plain(value))}")
    return number


def check_integer(name: str, value: Any, *, least: int) -> int:
    """Return `value` as an int from `least` to 2^53, the range that floats represent exactly."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not whole or value < least:
        raise ValueError(f"expected {name} >= {least}, an integer, got {one_line(plain(value))}")
    if int(value) > 2**53:
        raise ValueError(f"expected {name} <= {2**53}, got {one_line(plain(value))}")
    return int(value)


def step_limit(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is an integer >= 1, or -1 for no limit."""
    if check_integer(name, value, least=-1) == 0:
        raise ValueError(f"expected {name} >= 1, or -1 for no limit, got 0")


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if isinstance(value, str) and value in choices:
        return value
    close = close_names(str(value), choices)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"expected {name} in {sorted(choices)}, got {one_line(plain(value))}{hint}")


def check_flag(name: str, value: Any) -> bool:
    """Return `value` as a bool if it is True, False, 1 or 0."""
    if not (isinstance(value, Integral | np.bool_) and value in (0, 1)):
        raise ValueError(f"expected {name} to be True or False, got {one_line(plain(value))}")
    return bool(value)


def check_job_count(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is None, or an integer other than 0 within `MOST_JOBS`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if value is not None and not (whole and 0 < abs(value) <= MOST_JOBS):
        raise ValueError(
            f"expected {name} to be None or a nonzero integer from -{MOST_JOBS} to {MOST_JOBS}, "
            f"got {one_line(plain(value))}"
        )


def check_share(name: str, value: Any) -> float:
    """Return `value` as a float in the open interval (0, 1)."""
    number = check_real(name, value, above=0)
    if number >= 1:
        raise ValueError(f"expected {name} < 1, got {number:g}")
    return number


def real_number(
    *, above: float | None = None, least: float | None = None, infinite: bool = False
) -> Constraint:
    """Build a constraint that calls `check_real`."""
    return partial(check_real, above=above, least=least, infinite=infinite)


def moderate_number(*, infinite: bool = False) -> Constraint:
    """Build a constraint that calls `check_real` with the range `MODERATE`."""
    return partial(check_real, least=MODERATE[0], most=MODERATE[1], infinite=infinite)


def integer(*, least: int) -> Constraint:
    """Build a constraint that calls `check_integer`."""
    return partial(check_integer, least=least)


def one_of(words: Collection[str]) -> Constraint:
    """Build a constraint that calls `check_choice`."""
    return partial(check_choice, choices=words)


def optional(constraint: Constraint) -> Constraint:
    """Build a constraint that also accepts None."""
    return lambda name, value: None if value is None else constraint(name, value)


def automatic(constraint: Constraint, *, named: bool = False) -> Constraint:
    """Build a constraint that also accepts "auto"; if `named`, its errors mention "auto"."""

    def check(name: str, value: Any) -> object:
        if isinstance(value, str) and (value == "auto" or not named):
            return check_choice(name, value, ("auto",))
        return constraint(f"{name} = 'auto' or" if named else name, value)

    return check


def check_parameters(estimator: Any) -> None:
    """Check parameters against `_constraints` of each class, then call `_check_combinations`."""
    for kind in type(estimator).__mro__:
        for name, constraint in vars(kind).get("_constraints", {}).items():
            constraint(name, getattr(estimator, name))
    if hasattr(type(estimator), "_check_combinations"):
        estimator._check_combinations()


def check_random_state(seed: Any) -> np.random.RandomState:
    """Convert a seed to a random state with scikit-learn's ``check_random_state``."""
    from sklearn.utils import check_random_state

    try:
        return check_random_state(seed)
    except (ValueError, TypeError):
        raise ValueError(
            "expected random_state to be None, a RandomState, or an integer from 0 to 2**32 - 1, "
            f"got {one_line(plain(seed))}"
        ) from None


def plain(value: object) -> object:
    """Convert a NumPy scalar to a Python scalar, which has a shorter repr."""
    return value.item() if isinstance(value, np.generic) else value
