"""What the support vector machines share: estimator, dual problem, two-coordinate ascent."""
