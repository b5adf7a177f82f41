"""
Two kinds of data, one model
============================

Multiple kernel learning (MKL) combines data of different kinds: each kind has separate kernels, and
their weights are learned together with a support vector machine. In this example a sample is an
image and a string. Each of them alone predicts the class poorly; both together predict it better.
"""

# %%
# An image shows a cross or a ring under much noise. A string has 60 random letters that contain one
# of two motifs, in which 30 % of the letters are random as well.

# sphinx_gallery_thumbnail_number = 1

import numpy as np

CROSS = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]])
RING = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]])
MOTIFS = "GATTACAGATTA", "CCTGAGGTCCTG"


def make_image(label, random):
    """Return an image of 8 x 8 pixels."""
    shape = np.kron(RING if label else CROSS, np.ones((2, 2)))
    return shape + random.normal(scale=4.5, size=(8, 8))


def make_string(label, random):
    """Return 60 letters."""
    letters = random.choice(list("ACGT"), size=60)
    motif, start = np.array(list(MOTIFS[label])), random.integers(60 - 12)
    kept = random.uniform(size=12) < 0.7
    letters[start : start + 12] = np.where(kept, motif, letters[start : start + 12])
    return "".join(letters)


random = np.random.default_rng(0)
y = random.permutation(np.arange(800) % 2)
images = np.array([make_image(label, random).ravel() for label in y])
strings = [make_string(label, random) for label in y]

# %%
# A string has no features, but two strings have a kernel value: the number of common substrings of
# k letters (the k-spectrum kernel). It takes a few lines of Python. External kernels, such as graph
# kernels, are Gram matrices as well.

from collections import Counter
from itertools import product


def spectrum(strings, k):
    """Return the Gram matrix of the k-spectrum kernel."""
    parts = ["".join(letters) for letters in product("ACGT", repeat=k)]
    present = [Counter(s[i : i + k] for i in range(len(s) - k + 1)) for s in strings]
    counts = np.array([[each[part] for part in parts] for each in present])
    return counts @ counts.T


from pliant.kernels import Gaussian

of_images = {
    f"images, gamma = {gamma:g}": Gaussian(gamma)(images) for gamma in (0.0001, 0.001, 0.01)
}
of_strings = {f"strings, {k} letters": spectrum(strings, k) for k in (1, 2, 3, 4, 5)}

# %%
# ``Precomputed`` is the kernel of such a matrix, and a sample is its row number. Therefore ``X``
# has one column, and a split of ``X`` selects rows and columns of all matrices: cross-validation
# works as for any other estimator. The models are trained on 200 samples and tested on 600.

from sklearn.model_selection import GridSearchCV, train_test_split

from pliant import MKLClassifier
from pliant.kernels import Precomputed

X = np.arange(len(y))[:, None]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=600, random_state=0)


def tuned(grams, weights="simple"):
    """Return a model of these Gram matrices, with C selected by cross-validation."""
    model = MKLClassifier([Precomputed(gram) for gram in grams.values()], weights=weights)
    return GridSearchCV(model, {"C": [0.1, 0.3, 1, 3, 10, 100]}, cv=5).fit(X_train, y_train)


both = {**of_images, **of_strings}
models = {
    "images alone": tuned(of_images),
    "strings alone": tuned(of_strings),
    "both, equal weights": tuned(both, "uniform"),
    "both, learned weights": tuned(both),
}
for name, model in models.items():
    score, C = model.score(X_test, y_test), model.best_params_["C"]
    print(f"{name:<22}  accuracy on new samples {score:.3f}, C = {C:g}")

# %%
# Both kinds together are better than each of them. Equal weights are as good as learned ones
# here: always compare with them. Only learned weights identify the relevant kernels.
#
# The learned kernel is a sum of kernels of both kinds. Weights can be compared because the matrices
# are first scaled to a mean diagonal of 1. The second figure shows their dependence on C:
# ``C_path`` fits one model for each C with the same Gram matrices.

from matplotlib import pyplot as plt

from pliant import C_path
from pliant.plots import WeightsDisplay

learned = models["both, learned weights"].best_estimator_
names = list(both)
figure, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
WeightsDisplay.from_estimator(learned, kernel_names=names, ax=ax)
plt.show()

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
path = C_path(learned, X_train, y_train, np.logspace(-2, 2, 13))
WeightsDisplay.from_path(path, kernel_names=names, ax=ax)
plt.show()

# %%
# The fit ends with a certificate: no other weights reduce the objective by more than
# ``dual_gap_``.

print(f"The optimum lies between {learned.lower_bound_:.4f} and {learned.upper_bound_:.4f}.")
print(learned.kernel_)

# %%
# Columns of a table can be combined in the same way, without Gram matrices: ``On(kernel, columns)``
# applies a kernel to some columns. Here one kernel uses the upper half of the images, and one the
# lower half:

from pliant.kernels import On

halves = MKLClassifier([On(Gaussian(0.001), slice(0, 32)), On(Gaussian(0.001), slice(32, 64))])
halves.fit(images[X_train[:, 0]], y_train)
for name, weight in zip(halves.kernel_names_, halves.weights_, strict=True):
    print(f"{weight:.2f}  {name}")
