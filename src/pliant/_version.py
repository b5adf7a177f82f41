"""Version of the package and address of its documentation."""

__version__ = "0.1.0"

DOCUMENTATION = ""
"""Address of the published documentation; "" leaves its links out of the HTML of estimators."""
