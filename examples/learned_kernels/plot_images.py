"""
Kernels for images: features first
==================================

Kernel methods classify images from precomputed features. The DANK paper compares
learned kernels in this way on CIFAR-10, with the 4096 outputs of a VGG16 network (its Figure 3).
Neither that network nor its features are available here. This example makes the same comparison on
scikit-learn's handwritten digits, with two kinds of features that take a few lines of NumPy.
"""

# %%
# The images have 8 x 8 pixels. The first kind of features are the pixels. The second kind
# are histograms of oriented gradients (HOG): in each of nine overlapping windows of 4 x 4 pixels, a
# histogram of the directions of brightness changes, weighted by their magnitude.

# sphinx_gallery_thumbnail_number = 2

import numpy as np
from sklearn.datasets import load_digits

images, digits = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8) / 16


def hog(images, n_directions=8):
    """Return a histogram of directions for each window, shape (n, 9 * n_directions)."""
    down, right = np.gradient(images, axis=(1, 2))
    place = (np.arctan2(down, right) / (2 * np.pi) % 1) * n_directions
    # A direction between two bins counts for both, weighted by its distance.
    away = np.abs(place[..., None] - np.arange(n_directions))
    shares = np.maximum(0, 1 - np.minimum(away, n_directions - away))
    votes = np.hypot(down, right)[..., None] * shares
    windows = [
        votes[:, i : i + 4, j : j + 4].sum(axis=(1, 2)) for i in (0, 2, 4) for j in (0, 2, 4)
    ]
    return np.concatenate(
        [w / (np.linalg.norm(w, axis=1, keepdims=True) + 0.1) for w in windows], 1
    )


features = {"pixels": images.reshape(-1, 64), "HOG": hog(images)}

# %%
# The figure shows a three, the gradients of its brightness, and the nine histograms. An arrow
# points from light to dark. A histogram is drawn as a star around the centre of its window: a long
# ray means a large change in its direction.

from matplotlib import pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(8.4, 3.1), layout="constrained")
titles = "64 pixels", "gradients", "HOG: 9 windows, 8 directions"
for ax, title in zip(axes, titles, strict=True):
    ax.imshow(images[3], cmap="gray_r", alpha=1.0 if ax is axes[0] else 0.25)
    ax.set(title=title, xticks=[], yticks=[])
down, right = np.gradient(images[3])
axes[1].quiver(right, down, angles="xy", color="#0072B2", width=0.008)
angles = np.arange(8) * np.pi / 4
for k, histogram in enumerate(features["HOG"][3].reshape(9, 8)):
    row, column = 1.5 + 2 * (k // 3), 1.5 + 2 * (k % 3)
    axes[2].plot(column, row, "o", color="#D55E00", markersize=5)
    for length, angle in zip(1.1 * histogram, angles, strict=True):
        ends = [column, column + length * np.cos(angle)], [row, row + length * np.sin(angle)]
        axes[2].plot(*ends, color="#D55E00", linewidth=2)
plt.show()

# %%
# Each method is trained on 20 images of each digit and tested on 1000 others, for five random
# draws. Cross-validation selects C and the width of a Gaussian kernel for the SVM. DANK, KNPL and
# LogDet kernel learning (LDK) use this kernel and this C, as in the paper; MKL has Gaussian kernels
# of five widths around this one, and learns their weights.

from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from pliant import (
    DANKClassifier,
    KNPLClassifier,
    LearnedKernelClassifier,
    LogDetLearner,
    MKLClassifier,
)
from pliant.kernels import Gaussian, On


def methods(C, gamma):
    """Return the estimators that start from a Gaussian kernel."""
    widths = [Gaussian(gamma * factor) for factor in (0.1, 0.3, 1, 3, 10)]
    ldk = LogDetLearner(gamma=gamma, random_state=0)
    return {
        "SVM": SVC(C=C, gamma=gamma),
        "DANK": DANKClassifier(C=C, gamma=gamma, eta_scale=0.1),
        "KNPL": KNPLClassifier(C=C, gamma=gamma, eta_scale=0.1),
        "LDK": LearnedKernelClassifier(ldk, SVC(C=C, kernel="precomputed")),
        "MKL": MKLClassifier(widths, C=C, tol=1e-2),
    }


accuracy = {}
for seed in range(5):
    train, test = train_test_split(
        np.arange(len(digits)), train_size=200, test_size=1000, stratify=digits, random_state=seed
    )
    chosen = {}
    for kind, X in features.items():
        grid = {"C": [1, 10, 100], "gamma": 4.0 ** np.arange(-1, 2) / X[train].var() / X.shape[1]}
        search = GridSearchCV(SVC(), grid, cv=3).fit(X[train], digits[train])
        chosen[kind] = search.best_params_
        for name, model in methods(**chosen[kind]).items():
            model.fit(X[train], digits[train])
            score = 100 * model.score(X[test], digits[test])
            accuracy.setdefault((name, kind), []).append(score)
    # MKL can also learn from both kinds of features at once, with a kernel for each kind.
    both, columns = np.hstack([*features.values()]), {"pixels": slice(64), "HOG": slice(64, None)}
    kernels = [On(Gaussian(chosen[kind]["gamma"]), columns[kind]) for kind in features]
    model = MKLClassifier(kernels, C=chosen["pixels"]["C"], tol=1e-2).fit(
        both[train], digits[train]
    )
    accuracy.setdefault(("MKL", "both"), []).append(100 * model.score(both[test], digits[test]))

# %%
# The format follows the paper's figure: a bar for the mean accuracy of each method, with its
# standard deviation over the draws. Note that the axis starts at 90 %.

figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
colors = {"pixels": "#56B4E9", "HOG": "#D55E00", "both": "#009E73"}
places, ticks, position = {}, [], 0.0
for name in ("SVM", "DANK", "KNPL", "LDK", "MKL"):
    kinds = [kind for kind in colors if (name, kind) in accuracy]
    ticks.append(position + 0.5 * (len(kinds) - 1))
    for kind in kinds:
        scores = accuracy[name, kind]
        bar = ax.bar(position, np.mean(scores), yerr=np.std(scores, ddof=1), width=0.9, capsize=4,
                     color=colors[kind])  # fmt: skip
        ax.bar_label(bar, labels=[f"{np.mean(scores):.1f}"], padding=3, fontsize=9)
        places.setdefault(kind, bar)
        position += 1
    position += 0.8
ax.set(ylabel="accuracy on new images (%)", ylim=(90, 100))
ax.set_title("Handwritten digits, 200 training images: mean of 5 draws")
ax.set_xticks(ticks, ["SVM", "DANK", "KNPL", "LDK", "MKL"])
ax.legend(places.values(), places, title="features", loc="upper left", ncols=3, fontsize=9)
plt.show()

# %%
# All methods use the same draws, so their differences vary less than their accuracies.

svm = {kind: np.array(accuracy["SVM", kind]) for kind in features}
svm["both"] = np.maximum(svm["pixels"], svm["HOG"])
for (name, kind), scores in accuracy.items():
    if name != "SVM":
        more = np.array(scores) - svm[kind]
        print(f"{name:<4} on {kind:<6} {more.mean():+.1f} ({more.min():+.1f} to {more.max():+.1f})")

# %%
# These are gains in points of accuracy over the SVM with the same features (for both kinds: over
# the better of the two SVMs), as mean, minimum and maximum over the draws. If a range has both
# signs, five draws do not show which method is better. On images of 8 x 8 pixels, HOG adds little
# to the pixels; for larger images, compute it with more windows.

sides = [np.sign(np.subtract(scores, svm[kind])) for (_, kind), scores in accuracy.items()]
always = sum(abs(each.sum()) == len(each) for each in sides)
print(f"better, or worse, than the SVM in all five draws: {always} of {len(accuracy) - 2}")
