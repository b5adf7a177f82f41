"""
An embedding of new points
==========================

A kernel learned from labels moves the points of a class together. It is a function of any two
points, so it also applies to new points without labels.
"""

# %%
# The training set is half of scikit-learn's handwritten digits, 64 grey values each. The figure
# shows the held-out half. PCA uses no labels. ``KernelEmbedding`` learns a
# kernel and maps to its first two components; it selects the kernel, the strength of the labels and
# the exponent of the weights by cross-validation with nearest neighbours. It is fitted twice: with
# all labels of the training half, and with one in five.

# sphinx_gallery_thumbnail_number = 1

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from pliant import KernelEmbedding

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
few = np.where(np.random.default_rng(0).uniform(size=len(y)) < 0.2, y, -1)
n_few = int((few >= 0).sum())

embeddings = {
    "PCA": (PCA(2).fit(X), y),
    f"learned, {len(y)} labels": (KernelEmbedding(random_state=0).fit(X, y), y),
    f"learned, {n_few} labels": (KernelEmbedding(random_state=0).fit(X, few), few),
}

# %%
# The titles show the accuracy of a classifier by the five nearest labelled neighbours in these two
# coordinates. The axes show ranks: a learned kernel maps some classes far away, so that the other
# classes would share a corner.

from matplotlib import pyplot as plt
from scipy.stats import rankdata


def accuracy(embedding, labels):
    """Return the accuracy of nearest neighbours in the plane on new points."""
    known = labels >= 0
    neighbors = KNeighborsClassifier(5).fit(embedding.transform(X[known]), labels[known])
    return neighbors.score(embedding.transform(X_new), y_new)


figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
for ax, (name, (embedding, labels)) in zip(axes, embeddings.items(), strict=True):
    ranks = rankdata(embedding.transform(X_new), axis=0)
    points = ax.scatter(*ranks.T, s=10, c=y_new, cmap="tab10")
    title = f"{name}: {accuracy(embedding, labels):.1%}"
    ax.set(title=title, xlabel="", ylabel="", xticks=[], yticks=[])
figure.legend(*points.legend_elements(num=10), title="digit", loc="outside right")
plt.show()

# %%
# The selected settings are:

for name, (embedding, _) in embeddings.items():
    if isinstance(embedding, KernelEmbedding):
        kernel = embedding.learner_.kernel
        print(f"{name}: {kernel}, strength {embedding.strength_:g}, beta {embedding.beta_:g}")

# %%
# Pairs of points can replace labels: 2000 pairs that show the same digit, and 2000 that do not, as
# row indices. The strength is fixed here, so no cross-validation is needed.

from pliant import SCGLogDetLearner

random = np.random.default_rng(0)
pairs = random.integers(len(y), size=(40_000, 2))
pairs = np.unique(np.sort(pairs[pairs[:, 0] < pairs[:, 1]], axis=1), axis=0)
random.shuffle(pairs)
same = y[pairs[:, 0]] == y[pairs[:, 1]]
learner = SCGLogDetLearner("graph", strength=10.0)
from_pairs = KernelEmbedding(learner)
from_pairs.fit(X, similar=pairs[same][:2000], dissimilar=pairs[~same][:2000])
print(f"neighbours in the plane learned from pairs: {accuracy(from_pairs, y):.1%}")
