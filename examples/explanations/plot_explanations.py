"""
Explaining a model
==================

LAB-RBF reports the relevance of features and its uncertainty, the change of the prediction along a
feature, and the reasons for a single prediction.
"""

# %%
# The diabetes data set has ten measurements of 442 patients and the progression of the disease
# after one year. The left panel shows ``feature_relevance_``: the share of each feature in the
# changes of the learned function when features are permuted among training samples. Error bars are
# the standard deviation over the members of the model, which have different support points and
# held-out samples. An asterisk marks features that are correlated with another one
# (``correlated_features_``), here two pairs of blood serum measurements: the model may use either
# feature of a pair. For s1 and s2 the members disagree: the error bar of s1 is longer than its bar.
#
# The right panel shows scikit-learn's permutation importance on held-out samples: the decrease of
# R2 if a feature is permuted. It measures a different quantity and needs the targets, but both
# measures rank the same five features first, in the same order.

# sphinx_gallery_thumbnail_number = 1

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.model_selection import train_test_split

from pliant import LABRBFRegressor
from pliant.plots import RelevanceDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
model = LABRBFRegressor(random_state=0).fit(X, y)
print(f"R2 on new samples: {model.score(X_new, y_new):.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
display = RelevanceDisplay.from_estimator(model, ax=left)
importance = permutation_importance(model, X_new, y_new, n_repeats=20, random_state=0)
order = display.order[::-1]
right.barh(
    X.columns[order],
    importance.importances_mean[order],
    xerr=importance.importances_std[order],
    color="#D55E00",
    ecolor="black",
    capsize=2,
)
right.set(title="Permutation importance", xlabel="decrease of R2 if the feature is permuted")
plt.show()

for j, k in model.correlated_features_:
    print(f"{X.columns[j]} and {X.columns[k]} are correlated")
agreement = spearmanr(model.feature_relevance_, importance.importances_mean).statistic
print(f"rank correlation of relevance and permutation importance: {agreement:.2f}")

# %%
# Partial dependence shows the direction and the shape of a dependence, here for the four most
# relevant features. The plots show the mean prediction over the training samples as one feature
# varies, and the predictions for ten single samples.

figure, axes = plt.subplots(1, 4, figsize=(12.8, 3.4), sharey=True, layout="constrained")
PartialDependenceDisplay.from_estimator(
    model, X, display.order[:4], kind="both", subsample=10, random_state=0, ax=axes
)
for ax in axes[1:]:
    ax.set_ylabel("")
plt.show()

# %%
# For a single sample, ``explain`` splits the prediction into a constant, a linear part and a kernel
# part, which add up to it. The *effect* of a feature is the derivative of the prediction, times the
# standard deviation of the feature; the squared effects, divided by their sum, are
# the shares.

patients = X_new.iloc[:2]
reasons = model.explain(patients, n_nearest=3)
print(reasons)
for i in range(len(patients)):
    print(
        f"prediction {reasons.prediction[i]:.0f} = {reasons.constant:.0f} (constant) "
        f"{reasons.linear_part[i]:+.0f} (linear part) {reasons.kernel_part[i]:+.0f} (kernel part)"
    )

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharex=True, sharey=True, layout="constrained")
for ax, effects, shares, prediction in zip(
    axes, reasons.effects, reasons.shares, reasons.prediction, strict=True
):
    rising = np.where(effects > 0, "#0072B2", "#D55E00")
    bars = ax.barh(X.columns[order], effects[order], color=rising[order])
    ax.bar_label(bars, [f"{share:.0%}" if share > 0.01 else "" for share in shares[order]])
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(title=f"prediction {prediction:.0f}", xlabel="effect of one standard deviation")
    ax.margins(x=0.15)
plt.show()

# %%
# The kernel part is a sum over support points, which are training samples. The output lists those
# nearest to the first patient, with their distances in units of their bandwidths (a Gaussian at
# distance 1 has the value .37), and their contributions. A sample may be a support point of several
# members. A single contribution may be large, because contributions of neighbours may have opposite
# signs and cancel.

for row, distance, contribution in zip(
    reasons.rows[0], reasons.distances[0], reasons.contributions[0], strict=True
):
    print(
        f"training sample {row}: distance {distance:.2f}, contributes {contribution:+.0f}, "
        f"target {y.iloc[row]:.0f}"
    )
