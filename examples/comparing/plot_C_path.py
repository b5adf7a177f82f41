"""
Choosing C along a path
=======================

The penalty C controls how closely a support vector machine fits its training samples. `C_path` fits
a model for each of many values of C, on one Gram matrix, with a warm start from the previous
solution.
"""

# %%
# The data are two overlapping classes, with 300 training samples and 4000 new samples.

# sphinx_gallery_thumbnail_number = 1

import numpy as np

from pliant import C_path, DANKClassifier
from pliant.datasets import make_clowns

X, y = make_clowns(150, random_state=0)
X_new, y_new = make_clowns(2000, random_state=1)
Cs = np.logspace(-3, 4, 29)
path = C_path(DANKClassifier(gamma=1.0), X, y, Cs)

# %%
# The accuracy on the training samples eventually increases with C; the accuracy on new samples does
# not.

import matplotlib.pyplot as plt

learned = np.array([model.score(X, y) for model in path])
fresh = np.array([model.score(X_new, y_new) for model in path])
best = Cs[fresh.argmax()]
figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
ax.semilogx(Cs, learned, "--", label="training samples")
ax.semilogx(Cs, fresh, label="new samples")
ax.axvline(best, color="black", linewidth=0.8)
ax.set(xlabel="C", ylabel="accuracy")
ax.legend()
plt.show()

# %%
# Without new samples, use cross-validation: one path in each fold.

from sklearn.model_selection import StratifiedKFold

folds = StratifiedKFold(5, shuffle=True, random_state=0)
scores = np.mean(
    [
        [
            m.score(X[test], y[test])
            for m in C_path(DANKClassifier(gamma=1.0), X[train], y[train], Cs)
        ]
        for train, test in folds.split(X, y)
    ],
    axis=0,
)
chosen = Cs[scores.argmax()]

# %%
# The model with the selected C is nearly as accurate as that with the best one, which is unknown in
# practice.

lost = fresh.max() - fresh[scores.argmax()]
print(f"C = {chosen:.3g} by cross-validation, {lost:.3f} below the best accuracy on new samples")
