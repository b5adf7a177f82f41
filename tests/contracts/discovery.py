"""Find all public estimators by introspection."""

import pliant

ESTIMATORS = [
    item
    for item in (getattr(pliant, name) for name in sorted(pliant.__all__))
    if isinstance(item, type) and hasattr(item, "fit") and hasattr(item, "get_params")
]
"""Estimator classes in ``pliant.__all__``."""
