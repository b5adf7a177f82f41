"""
From memory to partitions
=========================

LAB-RBF accepts Dask collections, which consist of partitions that a scheduler loads one by one,
here in threads, or on a cluster with the same code.
"""

# %%
# The table is never in memory as a whole: 200 000 rows in 10 partitions, which are generated on
# demand. A partition could also be read from a file (``dask.dataframe.read_parquet``).

# sphinx_gallery_thumbnail_number = 1

import dask.array as da
import numpy as np

random = da.random.default_rng(0)
X = random.uniform(-1, 1, size=(200_000, 5), chunks=(20_000, 5))
truth = da.sin(8 * X[:, 0] * X[:, 1]) + da.cos(3 * X[:, 2]) + X[:, 3]
y = truth + random.normal(scale=0.5, size=200_000, chunks=20_000)

# %%
# Support points and bandwidths are learned from a sample of all partitions, the
# coefficients from all rows. The method is the same ``fit`` as for arrays.

from pliant import LABRBFRegressor

model = LABRBFRegressor(n_support=100, n_members=2, random_state=0).fit(X, y)
support = model.support_
print(f"{len(support)} support points, out of rows {support.min()} to {support.max()}")

# %%
# The prediction of a collection is a collection too. It is computed on demand, one partition
# after the other, and only as far as needed.

predicted = model.predict(X)
print(predicted)
print("the first five:", predicted[:5].compute().round(2))
rmse = da.sqrt(((predicted - truth) ** 2).mean()).compute()
print(f"error against the function without its noise, over all rows: {rmse:.3f}")

# %%
# Do more partitions help? The bandwidths are kept, and the coefficients are fitted to an increasing
# number of partitions, in one pass each.

from copy import deepcopy

import matplotlib.pyplot as plt

counts = [1, 3, 10]
errors = []
for count in counts:
    first = slice(0, count * 20_000)
    again = deepcopy(model).refit_coefficients(X[first], y[first])
    difference = again.predict(X[-20_000:]) - truth[-20_000:]
    errors.append(float(da.sqrt((difference**2).mean()).compute()))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
rows = [count * 20_000 for count in counts]
left.plot(rows, errors, "o-")
left.set(xscale="log", xlabel="rows", ylabel="root mean square error")
left.set_xticks(rows, [f"{count:,}".replace(",", " ") for count in rows])
left.minorticks_off()
part = np.asarray(truth[:2000]), np.asarray(predicted[:2000])
right.plot(*part, ".", markersize=2)
right.axline((0, 0), slope=1, color="black", linewidth=0.8)
right.set(xlabel="function", ylabel="prediction", title="2000 rows of the first partition")
plt.show()

# %%
# More rows improve the coefficients. For a cluster, only add a client,
# ``dask.distributed.Client("tcp://host:8786")``: see :doc:`/cluster`.

print(f"error with {counts[0]} partition {errors[0]:.3f}, with {counts[-1]} {errors[-1]:.3f}")
