"""
A Gaussian process with a learned kernel
========================================

A Gaussian process needs a kernel that describes the similarity of the target at two points. LAB-RBF
learns such a kernel, with a width for each feature, from the data.
"""

# %%
# The target depends on two of eight features, and varies four times as fast along one as along the
# other.

# sphinx_gallery_thumbnail_number = 1

import numpy as np

from pliant import LABRBFRegressor

random = np.random.default_rng(0)


def draw(n):
    """Return samples with noisy targets."""
    X = random.uniform(-1, 1, size=(n, 8))
    return X, np.sin(6 * X[:, 0]) + np.sin(1.5 * X[:, 1]) + random.normal(scale=0.1, size=n)


(X, y), (X_new, y_new) = draw(300), draw(1000)

# %%
# The kernel of LAB-RBF is not symmetric, since only support points have bandwidths. A Gaussian
# process needs a symmetric one: ``symmetric_kernel_``, which has the same widths at all points. The
# Gaussian process adds a model of the noise and the uncertainty of its predictions.

from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

learned = LABRBFRegressor(random_state=0).fit(X, y).symmetric_kernel_
models = {
    "one width": GaussianProcessRegressor(1.0 * RBF(2.0) + WhiteKernel(0.1), normalize_y=True),
    "learned": GaussianProcessRegressor(learned, alpha=0.02, normalize_y=True),
}
scores = {name: model.fit(X, y).score(X_new, y_new) for name, model in models.items()}

# %%
# The figure shows the prediction along the fast feature, with a band of two standard deviations;
# all other features are zero. The grey line is the true function.

import matplotlib.pyplot as plt

x = np.linspace(-1, 1, 201)
line = np.zeros((201, 8))
line[:, 0] = x
figure, axes = plt.subplots(1, 2, figsize=(6, 3.4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    mean, spread = model.predict(line, return_std=True)
    ax.plot(x, np.sin(6 * x), color="#999999", linewidth=4)
    ax.fill_between(x, mean - 2 * spread, mean + 2 * spread, color="#0072B2", alpha=0.25)
    ax.plot(x, mean, color="#0072B2")
    ax.set(title=f"{name}: R2 {scores[name]:.2f}", xlabel="fast feature")
plt.show()

# %%
# With the learned widths, the Gaussian process uses the relevant features.

print(f"R2 on new samples: learned {scores['learned']:.3f}, one width {scores['one width']:.3f}")
