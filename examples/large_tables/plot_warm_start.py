"""
Continue where a fit ended
==========================

When new rows arrive, a model should learn from them without starting over. With
``warm_start=True``, a fit of LAB-RBF continues from the support points and bandwidths of the
previous fit.
"""

# %%
# The rows arrive in five batches. After each batch, one model is fitted from scratch and
# the other continues.

# sphinx_gallery_thumbnail_number = 1

import time

from sklearn.datasets import make_friedman1

from pliant import LABRBFRegressor

X, y = make_friedman1(2000, noise=1.0, random_state=0)
X_new, y_new = make_friedman1(2000, noise=0.0, random_state=1)
LABRBFRegressor(n_members=1, max_iter=1, random_state=0).fit(X[:100], y[:100])  # compiles

going = LABRBFRegressor(warm_start=True, random_state=0)
scores, seconds = {"again": [], "continued": []}, {"again": 0.0, "continued": 0.0}
counts = [400, 800, 1200, 1600, 2000]
for count in counts:
    for name, model in (("again", LABRBFRegressor(random_state=0)), ("continued", going)):
        start = time.process_time()
        model.fit(X[:count], y[:count])
        seconds[name] += time.process_time() - start
        scores[name].append(model.score(X_new, y_new))

# %%
# The figure shows R2 on new samples after each batch.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
for (name, values), style in zip(scores.items(), ("o-", "s--"), strict=True):
    ax.plot(counts, values, style, label=f"{name}: {seconds[name]:.1f} s")
ax.set(xlabel="rows so far", ylabel="R2 on new samples")
ax.legend()
plt.show()

# %%
# The continued model reaches the same accuracy in less processor time.

print(f"R2: again {scores['again'][-1]:.4f}, continued {scores['continued'][-1]:.4f}")
print(f"processor seconds: again {seconds['again']:.1f}, continued {seconds['continued']:.1f}")
