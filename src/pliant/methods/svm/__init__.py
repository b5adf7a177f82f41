"""Support vector machines: estimators, their dual problem and two-coordinate ascent."""
