"""What the parameters of LAB-RBF may be, one by one and together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.core.validation import (
    Constraint,
    automatic,
    check_choice,
    check_flag,
    check_real,
    integer,
    one_of,
    optional,
    real_number,
)
from pliant.methods.lab_rbf.kernel import PROFILES
from pliant.methods.lab_rbf.trainer import STRATEGIES, is_automatic


def check_linear(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is True, False or "auto"."""
    if not isinstance(value, bool | np.bool_) and not is_automatic(value):
        raise ValueError(f"expected {name} True, False or 'auto', got {value!r}")


def check_transforms(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is "auto" or None."""
    if value is not None and not is_automatic(value):
        raise ValueError(f"expected {name} 'auto' or None, got {value!r}")


def check_fraction(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a number in [0, 1)."""
    number = check_real(name, value, least=0)
    if number >= 1:
        raise ValueError(f"expected {name} < 1, got {number:g}")


def check_rate(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a number in (0, 1]."""
    number = check_real(name, value, above=0)
    if number > 1:
        raise ValueError(f"expected {name} <= 1, got {number:g}")


def check_support(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a strategy, or different row numbers."""
    if isinstance(value, str):
        check_choice(name, value, STRATEGIES)
        return
    rows = np.asarray(value)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(np.unique(rows)) != len(rows):
        raise ValueError(
            f"expected {name} in {sorted(STRATEGIES)}, or different row numbers, got {value!r:.200}"
        )


CONSTRAINTS: Mapping[str, Constraint] = {
    "n_support": automatic(integer(least=1), named=True),
    "profile": one_of(PROFILES),
    "n_members": integer(least=1),
    "objective": one_of(("ridge", "evidence", "interpolation", "mixed")),
    "linear": check_linear,
    "transforms": check_transforms,
    "alpha": automatic(real_number(above=0), named=True),
    "shrinkage": automatic(real_number(least=0, infinite=True), named=True),
    "support": check_support,
    "initial_bandwidth": automatic(real_number(above=0), named=True),
    "validation_fraction": check_fraction,
    "solver": one_of(("lbfgs", "adam")),
    "max_iter": integer(least=1),
    "learning_rate": check_rate,
    "max_seconds": optional(real_number(above=0)),
    "dtype": one_of(("float32", "float64")),
    "warm_start": check_flag,
    "verbose": check_flag,
}
"""What each parameter may be, but for those that the classes check themselves."""


def check_combinations(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters that do not go together."""
    fraction, linear = parameters["validation_fraction"], parameters["linear"]
    chosen = is_automatic(parameters["alpha"]) or is_automatic(parameters["shrinkage"])
    if fraction == 0 and chosen:
        raise ValueError(
            "expected validation_fraction > 0, or numbers for alpha and shrinkage, which "
            f"the held-out rows choose, got {fraction:g}"
        )
    if parameters["objective"] == "interpolation" and linear and not is_automatic(linear):
        raise ValueError("expected linear=False with objective='interpolation', got True")


def check_begun(begun: Mapping[str, Any], model: Any) -> None:
    """Raise ValueError if a model's data or parameters do not belong to what a fit had learned."""
    members, classes = begun["members_"], begun.get("classes_")
    if classes is not None and not np.array_equal(classes, model.classes_):
        raise ValueError(
            f"expected labels {list(classes)} with warm_start=True, as in the fit before, got "
            f"{list(model.classes_)}"
        )
    shape = members[0].kernel_.centres.shape[1], len(members[0].intercept_)
    if shape != (model.n_features_in_, model._n_outputs):
        raise ValueError(
            f"expected {shape[0]} features and {shape[1]} outputs with warm_start=True, as in "
            f"the fit before, got {model.n_features_in_} and {model._n_outputs}"
        )
    if model.n_members < len(members):
        raise ValueError(
            f"expected n_members >= {len(members)}, the number of members that warm_start=True "
            f"goes on from, got {model.n_members}"
        )
    if "interpolation" in (model.objective, *(member.objective_ for member in members)):
        raise ValueError(
            "expected warm_start=False with or after objective='interpolation', whose coefficients "
            "belong to the samples of the first fit, got True"
        )
