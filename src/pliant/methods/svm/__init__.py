"""Support vector machines: base estimators, the dual problem and its solver."""
