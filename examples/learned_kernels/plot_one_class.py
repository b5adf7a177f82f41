"""
Outliers in two kinds of measurements
=====================================

`MKLOneClass` describes the normal samples by several kernels at once and reports what lies outside.
Here a sample is a pump's working point, two features, and its vibration, eight features.
"""

# %%
# Normal working points lie on a ring, and normal vibrations are small. The outliers of a first kind
# lie inside the ring, those of a second kind vibrate too much.

# sphinx_gallery_thumbnail_number = 1

import numpy as np

random = np.random.default_rng(0)


def draw(n, radius=1.0, vibration=1.0):
    """Return n samples: a point near a ring, and eight amplitudes."""
    angle = random.uniform(0, 2 * np.pi, n)
    ring = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    ring += random.normal(scale=0.1, size=(n, 2))
    return np.hstack([ring, random.normal(scale=vibration, size=(n, 8))])


X = draw(400)
new = {"normal": draw(200), "inside": draw(200, radius=0.4), "vibrating": draw(200, vibration=2.0)}

# %%
# Each kind of measurement has a kernel with a width that suits it. ``nu`` is the share of training
# samples that may lie outside.

from pliant import MKLOneClass
from pliant.kernels import Gaussian, On

point, vibration = On(Gaussian(4.0), slice(0, 2)), On(Gaussian(0.005), slice(2, 10))
models = {
    "working point": MKLOneClass([point], nu=0.05).fit(X),
    "vibration": MKLOneClass([vibration], nu=0.05).fit(X),
    "both": MKLOneClass([point, vibration], nu=0.05).fit(X),
}
shares = {
    name: [np.mean(model.predict(samples) == -1) for samples in new.values()]
    for name, model in models.items()
}

# %%
# The share of new samples that each model reports as outliers.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
places = np.arange(3)
for shift, (name, values) in enumerate(shares.items()):
    ax.bar(places + 0.27 * (shift - 1), values, width=0.25, label=name)
ax.set_xticks(places, list(new))
ax.set(ylabel="reported as outliers", ylim=(0, 1.35))
ax.legend(ncols=3, fontsize="small", loc="upper center")
plt.show()

# %%
# Only the model of both kinds of measurements reports both kinds of outliers.

normal, inside, vibrating = shares["both"]
print(f"reported: {inside:.0%} inside, {vibrating:.0%} vibrating; false alarms: {normal:.0%}")
