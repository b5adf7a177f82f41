"""
Learn on a sample, fit to all rows
==================================

A few rows suffice to learn bandwidths, but coefficients benefit from all rows.
``refit_coefficients`` fits the coefficients of a LAB-RBF model to a table that may be larger than
memory.
"""

# %%
# The file contains a generated table of 50 000 rows; ``numpy.memmap`` reads only the needed parts.

# sphinx_gallery_thumbnail_number = 1

import tempfile
from pathlib import Path

import numpy as np

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "table.f8")
random = np.random.default_rng(0)
table = np.memmap(path, dtype=np.float64, mode="w+", shape=(50_000, 6))
table[:, :5] = random.uniform(-1, 1, size=(50_000, 5))
waves = np.sin(8 * table[:, 0] * table[:, 1]) + np.cos(3 * table[:, 2]) + table[:, 3]
table[:, 5] = waves + random.normal(scale=0.5, size=50_000)
X, y = table[:, :5], table[:, 5]
X_new = random.uniform(-1, 1, size=(5000, 5))
truth = np.sin(8 * X_new[:, 0] * X_new[:, 1]) + np.cos(3 * X_new[:, 2]) + X_new[:, 3]

# %%
# The bandwidths are learned from 1000 rows. Then the coefficients are fitted to increasing numbers
# of rows.

from copy import deepcopy

from pliant import LABRBFRegressor

first = LABRBFRegressor(random_state=0).fit(X[:1000], y[:1000])
counts = [1000, 3000, 10_000, 50_000]
errors = []
for count in counts:
    model = deepcopy(first).refit_coefficients(X[:count], y[:count])
    errors.append(np.sqrt(np.mean((model.predict(X_new) - truth) ** 2)))

# %%
# The figure shows the error relative to the noise-free function.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
ax.plot(counts, errors, "o-")
ax.set(xscale="log", xlabel="rows", ylabel="root mean square error")
ax.set_ylim(0)
ax.set_xticks(counts, [f"{count:,}".replace(",", " ") for count in counts])
plt.show()

# %%
# With the same bandwidths, more rows improve the coefficients.

print(f"error with 1000 rows {errors[0]:.3f}, with 50 000 rows {errors[-1]:.3f}")
del X, y, table
folder.cleanup()
