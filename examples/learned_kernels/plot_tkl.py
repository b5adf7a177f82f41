"""
A kernel without a width
========================

TKL needs no base kernel: it learns one from a whole family, the tessellated kernels, by convex
optimisation. Each point divides the plane along the axes, so the learned kernel and its decision
function can have edges where the data have edges. In this example the classes are the
high and the low points of a canyon.
"""

# %%
# The data are elevations of a generated canyon with straight rims. Cross-validation selects ``C``
# and the width of the Gaussian SVM; TKL has no width, only ``C``.

# sphinx_gallery_thumbnail_number = 1

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from pliant import TKLClassifier
from pliant.datasets import make_terrain


def above(X, height=1500):
    """Return points, and labels that are True above `height`."""
    return X[0], np.where(X[1] > height, "high", "low")


X, y = above(make_terrain(300, noise=100, random_state=0))
X_new, y_new = above(make_terrain(10_000, random_state=1))

Cs = [1, 10, 100, 1000]
svm = GridSearchCV(SVC(), {"C": Cs, "gamma": [1, 4, 16, 64, 256]}).fit(X, y)
tkl = GridSearchCV(TKLClassifier(), {"C": Cs}).fit(X, y)
for name, search in (("Gaussian SVM", svm), ("TKL", tkl)):
    print(f"{name:<12}  new points {search.score(X_new, y_new):.3f}   {search.best_params_}")
svm, tkl = svm.best_estimator_, tkl.best_estimator_

# %%
# The first figure shows the decision boundaries of the Gaussian SVM (dashed) and of TKL. The second
# one shows the certified gap to the best kernel of the family; each point stands for one support
# vector machine that TKL solves.

from matplotlib import pyplot as plt
from sklearn.inspection import DecisionBoundaryDisplay

figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
for each, line in ((tkl, "solid"), (svm, "dashed")):
    DecisionBoundaryDisplay.from_estimator(
        each,
        X,
        grid_resolution=250,
        eps=0.1,
        plot_method="contour",
        levels=[0],
        linestyles=line,
        ax=ax,
    )
ax.scatter(X[:, 0], X[:, 1], 16, np.where(y == "high", "#0072B2", "#D55E00"))
plt.show()

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
relative = tkl.gap_history_ / tkl.objective_history_
ax.semilogy(range(1, len(relative) + 1), relative, "o-", color="#0072B2", label="certified gap")
ax.axhline(tkl.tol, color="0.5", linestyle="--", label=f"tol = {tkl.tol:g}")
ax.set(xlabel="support vector machines solved", ylabel="gap / objective")
ax.legend()
plt.show()

# %%
# The learned kernel is a function of two points. If one of them is fixed at z, it is a polynomial
# on each of the four rectangles between the dashed lines through z, with kinks at their borders.
# The three panels have the same colour scale.

from pliant.plots import TessellationDisplay

points = np.array([(0.2, 0.8), (0.65, 0.6), (0.5, 0.3)])
values = tkl.kernel_(X, points)
levels = np.arange(np.floor(values.min()), np.ceil(values.max()), 0.25)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, z in zip(axes, points, strict=True):
    TessellationDisplay.from_estimator(
        tkl, X, features=(0, 1), point=tuple(z), ax=ax, levels=levels, extend="both"
    )
plt.show()

# %%
# The learned matrix P is small, and its rank is even smaller:

print(f"P has the shape {tkl.shape_matrix_.shape} and the rank {tkl.rank_}.")
print(f"The optimum lies between {tkl.lower_bound_:.4f} and {tkl.upper_bound_:.4f}.")

# %%
# The edges of this canyon are parallel to the axes. If it is turned, the advantage disappears: a
# tessellation is always parallel to the axes, while a Gaussian kernel is isotropic.

for angle in (0, 15, 45):
    X, y = above(make_terrain(300, angle=angle, noise=100, random_state=0))
    X_new, y_new = above(make_terrain(10_000, angle=angle, random_state=1))
    scores = [model.fit(X, y).score(X_new, y_new) for model in (svm, tkl)]
    print(f"turned by {angle:>2} degrees: Gaussian SVM {scores[0]:.3f}, TKL {scores[1]:.3f}")
