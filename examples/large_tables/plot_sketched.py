"""
A kernel from 2000 rows, a model of 100 000 rows
================================================

Learning a kernel takes more time per row than using one. `SketchedKernelRidge` fits all rows
with the kernel that MKL learns on a sample, using 150 rows as centres.
"""

# %%
# The data have twelve features, of which three matter, without interactions, and much noise.

# sphinx_gallery_thumbnail_number = 1

import numpy as np


def make_table(n, seed):
    """Return uniform points, and a function of three features with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 12))
    f = np.sin(6 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] ** 2
    return X, f + rng.normal(size=n)


X, y = make_table(100_000, seed=0)
X_new, y_new = make_table(10_000, seed=1)

# %%
# MKL learns the weights of a Gaussian for each feature from 2000 rows. ``kernel_`` is the weighted
# sum; kernels of weight 0 cost nothing.

from pliant import MKLRegressor, SketchedKernelRidge
from pliant.kernels import Gaussian, On

kernels = [On(Gaussian(5.0), [feature]) for feature in range(12)]
learned = MKLRegressor(kernels, C=0.3).fit(X[:2000], y[:2000])

# %%
# We fit ridge regression on 150 centres to increasing numbers of rows, with one Gaussian of all
# features and with the learned kernel. Each fit certifies the distance of its predictions from the
# optimum.

import time

rows = [2000, 10_000, 100_000]
scores = {"one Gaussian": [], "learned kernel": []}
print("                  rows   seconds   passes      R2   certified error")
for name, kernel in (("one Gaussian", "gaussian"), ("learned kernel", learned.kernel_)):
    for n in rows:
        model = SketchedKernelRidge(kernel, n_centers=150, tol=1e-3, random_state=0)
        start = time.perf_counter()
        model.fit(X[:n], y[:n])
        seconds, score = time.perf_counter() - start, model.score(X_new, y_new)
        scores[name].append(score)
        error = np.sqrt(model.gap_ / n) / y[:n].std()
        print(f"{name:14} {n:7} {seconds:9.1f} {model.n_passes_:8} {score:7.3f} {error:17.1e}")

# %%
# The left panel shows the avoidable error, the share of the variance that is neither noise nor
# explained. The dashed line shows the MKL model, which learned the weights on 2000 rows. With the
# same kernel, more rows greatly reduce the error; with one Gaussian, they help little. The right
# panel shows the weights, which are largest for the three relevant features.

from matplotlib import pyplot as plt

best = 1 - 1 / y_new.var()
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for (name, values), marker, colour in zip(
    scores.items(), "os", ("#D55E00", "#0072B2"), strict=True
):
    left.plot(rows, best - np.array(values), marker=marker, color=colour, label=name)
avoidable = best - learned.score(X_new, y_new)
left.axhline(avoidable, color="black", linestyle="--", linewidth=1, label="MKL, 2000 rows")
left.set(xscale="log", yscale="log", xlabel="rows", ylabel="avoidable error")
left.legend(loc="center right", bbox_to_anchor=(1.0, 0.68))
right.bar(range(12), learned.weights_, color="#0072B2")
right.set(xlabel="feature", ylabel="learned weight", xticks=range(12))
plt.show()

# %%
# The numbers are:

first, last = (best - scores["learned kernel"][place] for place in (0, -1))
print(f"avoidable error with the learned kernel: {first:.4f} on 2000 rows, {last:.4f} on {len(X)}")
