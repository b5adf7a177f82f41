"""Find all public estimators by introspection."""

import pliant

ESTIMATORS = [
    item
    for item in (getattr(pliant, name) for name in sorted(pliant.__all__))
    if isinstance(item, type) and hasattr(item, "fit") and hasattr(item, "get_params")
]
"""Estimator classes in ``pliant.__all__``."""


def constraints_of(kind):
    """Return the constraints in the tables ``_constraints`` of a class and its base classes."""
    tables = (vars(each).get("_constraints", {}) for each in reversed(kind.__mro__))
    return {name: constraint for table in tables for name, constraint in table.items()}
