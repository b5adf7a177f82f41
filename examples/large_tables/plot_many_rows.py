"""
Many rows, in parts
===================

The time to fit a kernel machine grows faster than the number of rows. DANK can divide the rows by
k-means and solve each part separately; the loss of accuracy occurs near the borders between parts,
and can be corrected.
"""

# %%
# The data are twenty thousand points in a square; the label is the sign of a sum of waves, and one
# in fifty is flipped.

# sphinx_gallery_thumbnail_number = 1

import numpy as np


def make_waves(n, seed):
    """Draw n points, with the sign of fixed waves."""
    waves = np.random.default_rng(8)
    directions, phases = waves.normal(scale=5.0, size=(2, 30)), waves.uniform(0, 6.3, 30)
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.where(np.cos(X @ directions + phases).sum(axis=1) > 0, 1, -1)
    return X, np.where(rng.uniform(size=n) < 0.02, -y, y)


X, y = make_waves(20_000, seed=0)
X_new, y_new = make_waves(10_000, seed=1)

# %%
# We fit the same data in three ways: all rows together, in parts, and refined from the parts to the
# exact optimum. With this many rows no Gram matrix is stored: its rows are computed on demand and
# cached up to ``cache_mb``.

import time

from pliant import DANKClassifier, KMeansPartition

settings = {"gamma": 10.0, "C": 4.0, "eta": 1e4, "tau": 0.0}
parts, refined = KMeansPartition(n_parts=12), KMeansPartition(n_parts=12, refine=True)
machines = {
    "exact": DANKClassifier(**settings),
    "parts": DANKClassifier(**settings, partition=parts),
    "refined": DANKClassifier(**settings, partition=refined),
}
DANKClassifier(**settings, partition=refined).fit(X[:500], y[:500])  # compiles
print("           seconds     new points   objective   certified gap")
for name, machine in machines.items():
    start = time.perf_counter()
    machine.fit(X, y)
    seconds, fresh = time.perf_counter() - start, machine.score(X_new, y_new)
    reached = f"{machine.objective_:9.1f}   {machine.dual_gap_:13.2f}"
    print(f"{name:8}   {seconds:7.1f}   {fresh:12.1%}   {reached}")

# %%
# "exact" and "refined" reach the same optimum, each with a certificate. "parts" reaches the optimum
# of another problem, in which the kernel between different parts is zero. Therefore its objective
# and gap cannot be compared with the others.
#
# The left panel shows the parts; each new point is predicted by the part with the nearest centre.
# The right panel shows the decision boundary of the model in parts (solid) and of the exact model
# (dashed), and the new points that they classify differently: most lie where the boundary is close
# to a border between parts, since each part contains only one side of the border.

from matplotlib import pyplot as plt
from scipy.spatial import Voronoi, voronoi_plot_2d

parted, exact = machines["parts"], machines["exact"]
differ = parted.predict(X_new) != exact.predict(X_new)
across, up = np.meshgrid(*[np.linspace(-1, 1, 120)] * 2)
grid = np.column_stack([across.ravel(), up.ravel()])

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4.3), layout="constrained")
left.scatter(*X.T, c=parted.part_labels_, cmap="tab20", s=1, rasterized=True)
left.plot(*parted.part_centres_.T, "k+", markersize=10)
left.set_title(f"{len(parted.part_centres_)} parts of {len(X)} points")
for machine, style in ((parted, "-"), (exact, "--")):
    values = machine.decision_function(grid).reshape(across.shape)
    right.contour(across, up, values, levels=[0.0], colors="black", linestyles=style)
right.scatter(*X_new[differ].T, s=9, color="tab:red")
voronoi_plot_2d(
    Voronoi(parted.part_centres_), right, show_points=False, show_vertices=False,
    line_colors="tab:blue", line_alpha=0.5,
)  # fmt: skip
right.set_title(f"{differ.sum()} of {len(X_new)} new points differ")
for axes in (left, right):
    axes.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal", xlabel="x0", ylabel="x1")
plt.show()

# %%
# How far are these points from a border? Half the difference of the distances to the two nearest
# centres measures this:

nearest = np.sort(np.linalg.norm(X_new[:, None] - parted.part_centres_, axis=2), axis=1)
to_border = (nearest[:, 1] - nearest[:, 0]) / 2
print(f"median {np.median(to_border[differ]):.3f}; of all points {np.median(to_border):.3f}")
