"""
Prediction intervals
====================

A prediction is more useful with its uncertainty. A LAB-RBF regressor has two kinds of prediction
intervals: approximate ones, from the errors on held-out samples of its members, and calibrated
ones, which contain the target of a new sample with at least the requested probability.
"""

# %%
# The data are a wave with a gap in the middle, without observations.

# sphinx_gallery_thumbnail_number = 2

import numpy as np

from pliant import LABRBFRegressor

random = np.random.default_rng(0)


def draw(n, low=0.0, high=4.0):
    """Return points and noisy targets."""
    x = random.uniform(low, high, size=n)
    return x[:, None], np.sin(3 * x) + 0.3 * x + random.normal(scale=0.15, size=n)


left, right = draw(150, high=1.6), draw(150, low=2.4)
X, y = (np.concatenate(parts) for parts in zip(left, right, strict=True))
x = np.linspace(0, 4, 401)[:, None]

default = LABRBFRegressor(20, n_members=8, random_state=0).fit(X, y)
calibrated = LABRBFRegressor(20, n_members=8, calibration=0.2, random_state=0).fit(X, y)

# %%
# Each band shows the 90 % intervals. It is wider in the gap, where the members of the model
# disagree. The guarantee of the calibrated intervals applies to new samples from the same
# distribution, and not to the gap, where no method can give a guarantee.
#
# The right panel shows the share of new targets inside the intervals, for each requested coverage.

from matplotlib import pyplot as plt

GREY, BLUE, VERMILION = "#595959", "#0072B2", "#D55E00"
figure, axes = plt.subplots(1, 3, figsize=(12, 4), width_ratios=(2, 2, 1.3), layout="constrained")
models = {"approximate": default, "calibrated": calibrated}
for ax, (name, model) in zip(axes, models.items(), strict=False):
    low, high = model.predict_interval(x, coverage=0.9).T
    ax.fill_between(x[:, 0], low, high, color=VERMILION, alpha=0.25, linewidth=0)
    ax.plot(x[:, 0], model.predict(x), color=VERMILION)
    ax.plot(X[:, 0], y, ".", color=BLUE, markersize=3)
    ax.set(title=f"{name} intervals, 90 %", xlabel="x")
axes[0].set_ylabel("y")

X_new, y_new = (
    np.concatenate(parts) for parts in zip(draw(2000, high=1.6), draw(2000, low=2.4), strict=True)
)
coverages = np.linspace(0.1, 0.95, 18)
for (name, model), style in zip(models.items(), ("-", "--"), strict=True):
    held = []
    for coverage in coverages:
        low, high = model.predict_interval(X_new, coverage).T
        held.append(np.mean((low <= y_new) & (y_new <= high)))
    axes[2].plot(coverages, held, style, color=VERMILION, label=name)
axes[2].plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
axes[2].set(title="share of new targets inside", xlabel="requested", ylabel="measured")
axes[2].legend(frameon=False)
plt.show()

# %%
# With more features such a band cannot be drawn. `IntervalDisplay` draws the intervals of new
# samples against their targets: intervals that cross the diagonal contain the target.

from pliant.plots import IntervalDisplay

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
display = IntervalDisplay.from_estimator(calibrated, X_new, y_new, coverage=0.9, ax=ax)
plt.show()

# %%
# Over many draws of the calibration samples, calibrated intervals contain at least 90 % of the new
# targets on average. With 60 calibration samples, as here, the share of one model varies by about
# four points.

low, high = calibrated.predict_interval(X_new, coverage=0.9).T
print(f"share of {len(y_new)} targets: {np.mean((low <= y_new) & (y_new <= high)):.3f}")
