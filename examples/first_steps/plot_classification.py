"""
Probabilities and their calibration
===================================

`LABRBFClassifier` predicts classes and their probabilities. A probability is calibrated if, among
the samples with a predicted probability of .8, about 80 % belong to the class.
"""

# %%
# Two classes in ten dimensions: a sample belongs to class 1 if its squared length is above the
# median of a chi-squared distribution (Hastie, Tibshirani, Friedman: The Elements of Statistical
# Learning, Example 10.2). One label in ten is random, so some errors are unavoidable.

# sphinx_gallery_thumbnail_number = 1

import numpy as np
from sklearn.datasets import make_hastie_10_2

X, y = make_hastie_10_2(5000, random_state=0)
again = np.random.default_rng(0).uniform(size=5000) < 0.1
y[again] = np.random.default_rng(1).choice([-1.0, 1.0], size=again.sum())
X, X_new, y, y_new = X[:1000], X[1000:], y[:1000], y[1000:]

# %%
# The log loss penalises confident wrong probabilities. The third model is
# LAB-RBF, calibrated by isotonic regression on held-out samples.

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss

from pliant import LABRBFClassifier

models = {
    "forest": RandomForestClassifier(300, random_state=0),
    "LAB-RBF": LABRBFClassifier(random_state=0),
    "calibrated": CalibratedClassifierCV(LABRBFClassifier(random_state=0), method="isotonic", cv=3),
}
losses = {}
for name, model in models.items():
    losses[name] = log_loss(y_new, model.fit(X, y).predict_proba(X_new))
    print(f"{name:<10}  accuracy {model.score(X_new, y_new):.3f}, log loss {losses[name]:.3f}")

# %%
# In the reliability diagram, samples are grouped by their predicted probability. On the diagonal,
# the probability equals the share of samples that belong to the class.

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay

figure, ax = plt.subplots(figsize=(5, 3.8), layout="constrained")
for (name, model), colour in zip(models.items(), ("#999999", "#0072B2", "#D55E00"), strict=True):
    CalibrationDisplay.from_estimator(
        model, X_new, y_new, n_bins=8, strategy="quantile", ax=ax, name=name, color=colour
    )
ax.legend(fontsize="small", loc="upper left")
ax.set(xlabel="predicted probability", ylabel="share of the class")
plt.show()

# %%
# LAB-RBF separates the classes much better than the forest, but its probabilities are too close to
# one half on these data. Calibration moves them close to the observed shares.

print(f"log loss: LAB-RBF {losses['LAB-RBF']:.3f}, calibrated {losses['calibrated']:.3f}")
