"""
Which group of columns helps?
=============================

Columns of a table often form groups: laboratory values, answers of a questionnaire, the weather.
Multiple kernel learning gives each group a separate kernel and learns the weights of these kernels.
"""

# %%
# scikit-learn's breast cancer data describe cell nuclei by ten measurements, each with its mean,
# its standard error, and its mean over the three largest nuclei. We group the columns by these
# three statistics, and add a group of ten noise columns.

# sphinx_gallery_thumbnail_number = 1

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pliant import MKLClassifier
from pliant.kernels import Gaussian, On

X, y = load_breast_cancer(return_X_y=True)
noise = np.random.default_rng(0).normal(size=(len(y), 10))
X = StandardScaler().fit_transform(np.hstack([X, noise]))
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
groups = {
    "mean": slice(0, 10),
    "standard error": slice(10, 20),
    "largest": slice(20, 30),
    "noise": slice(30, 40),
}
kernels = [On(Gaussian(0.05), columns) for columns in groups.values()]

# %%
# One model has learned weights, and one has equal weights for all groups.

learned = MKLClassifier(kernels, C=1.0).fit(X, y)
equal = MKLClassifier(kernels, C=1.0, weights="uniform").fit(X, y)

# %%
# The weights of the groups sum to 1.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
bars = ax.barh(list(groups), learned.weights_, color="#0072B2")
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.set(xlabel="weight", xlim=(0, 1))
ax.invert_yaxis()
plt.show()

# %%
# The noise gets little or no weight. Equal weights predict about as well; the learned
# weights show which groups are needed.

weight = learned.weights_[-1]
print(f"weight of the noise: {weight:.3f}")
print(f"accuracy: learned {learned.score(X_new, y_new):.3f}, equal {equal.score(X_new, y_new):.3f}")
