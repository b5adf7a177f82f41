"""
A bandwidth for every support point
===================================

One Gaussian has one width, but a function that varies slowly in one region and fast in another
needs several. LAB-RBF learns a separate bandwidth for each support point and feature.
The learned bandwidths show the width of the kernel at each point, and the relevant
features.
"""

# %%
# The data are the function of the paper's first figure, sin(2 x\ :sup:`3`), with noise: its waves
# become shorter and shorter. Cross-validation selects the width of the Gaussian and its ridge
# penalty. LAB-RBF has 40 support points in each of its ten members, and maximises the evidence.

# sphinx_gallery_thumbnail_number = 1

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from pliant import LABRBFAlgorithm, LABRBFRegressor


def chirp(x):
    """Return sin(2 x^3)."""
    return np.sin(2 * x**3)


random = np.random.default_rng(0)
X = random.uniform(0, 3, size=(400, 1))
y = chirp(X[:, 0]) + random.normal(scale=0.1, size=400)
x = np.linspace(0, 3, 1001)

grid = {"gamma": 2.0 ** np.arange(-2, 10), "alpha": 10.0 ** np.arange(-4, 2)}
one = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5).fit(X, y).best_estimator_
evidence = LABRBFAlgorithm(objective="evidence")
local = LABRBFRegressor(40, algorithm=evidence, random_state=0).fit(X, y)
models = {"one Gaussian": one, "LAB-RBF": local}

# %%
# The top row shows the learned functions (the true one in grey), with root mean square errors in
# the left and in the right half. The middle row shows the errors. The bottom row shows the width
# 1/θ of the kernel: one for all points, or one at each support point (a larger disc means a larger
# coefficient), wider where the function varies slowly.

from matplotlib import pyplot as plt

GREY, BLUE, VERMILION = "#595959", "#0072B2", "#D55E00"
figure, axes = plt.subplots(
    3,
    2,
    figsize=(8, 6),
    sharex=True,
    sharey="row",
    height_ratios=(2, 1, 1.2),
    layout="constrained",
)
for column, (name, model) in zip(axes.T, models.items(), strict=True):
    learned = model.predict(x[:, None])
    squares = (learned - chirp(x)) ** 2
    slow, fast = (np.sqrt(squares[half].mean()) for half in (x < 1.5, x >= 1.5))
    column[0].plot(x, chirp(x), color=GREY, linewidth=4, alpha=0.3)
    column[0].plot(X[:, 0], y, ".", color=BLUE, markersize=3)
    column[0].plot(x, learned, color=VERMILION, linewidth=1.2)
    column[0].set_title(f"{name}: error {slow:.3f}, then {fast:.3f}", fontsize=11)
    column[1].plot(x, learned - chirp(x), color=VERMILION, linewidth=1)
    column[2].set(xlabel="x", yscale="log")
axes[2, 0].axhline(one.gamma**-0.5, color=VERMILION)
strength = np.abs(local.dual_coef_) / np.abs(local.dual_coef_).max()
axes[2, 1].scatter(
    local.support_vectors_[:, 0], 1 / local.bandwidths_[:, 0], 60 * strength, color=VERMILION
)
for ax, label in zip(axes[:, 0], ("y", "error", "width 1/θ"), strict=True):
    ax.set_ylabel(label)
plt.show()

# %%
# The learned kernel is an ordinary kernel of pliant. It is not symmetric, since only support points
# have bandwidths. The whole model is one expansion, clipped to the range of y.

f = local.kernel_(X, local.support_vectors_) @ local.dual_coef_ + X @ local.linear_coef_
f = (f + local.intercept_).clip(y.min(), y.max())
print(f"largest difference from predict: {abs(f - local.predict(X)).max():.1e}")

# %%
# With several features, a bandwidth near zero means that a feature is irrelevant. Friedman's
# function has ten features and uses five: the product of the first two, the square of the third,
# and multiples of the fourth and of the fifth. The bars show all five. The panel next to them shows
# the terms of the support points, without x4 and x5, which appear only in the linear part.

from sklearn.datasets import make_friedman1

from pliant.plots import RelevanceDisplay

X, y = make_friedman1(600, noise=0.5, random_state=0)
X_new, y_new = make_friedman1(5000, noise=0.0, random_state=1)
model = LABRBFRegressor(random_state=0).fit(X, y)
print(f"R2 on new points: {model.score(X_new, y_new):.4f}")

names = [f"x{j}" for j in range(1, 11)]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
RelevanceDisplay.from_estimator(model, feature_names=names, ax=left)
RelevanceDisplay.from_estimator(model, kind="support", feature_names=names, ax=right)
plt.show()

# %%
# Far from all support points a prediction is unreliable. ``distance_to_support`` is the distance of
# a point from the nearest support point, in units of its bandwidths.

for far in (1.0, 1.5, 3.0):
    distances = model.distance_to_support(far * X_new)
    print(f"features times {far}: median distance {np.median(distances):.2f}")
