"""Every public estimator, found by what it is: no list to keep up to date."""

import pliant

ESTIMATORS = [
    item
    for item in (getattr(pliant, name) for name in sorted(pliant.__all__))
    if isinstance(item, type) and hasattr(item, "fit") and hasattr(item, "get_params")
]
"""The classes in ``pliant.__all__`` that learn."""
