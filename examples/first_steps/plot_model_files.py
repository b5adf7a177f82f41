"""
Save, load and inspect a model
==============================

A model file of pliant contains numbers and names, but no code: loading it cannot run code. The
loaded model makes the same predictions, and `summary` describes it.
"""

# %%
# A model of scikit-learn's diabetes data: ten measurements of 442 patients.

# sphinx_gallery_thumbnail_number = 1

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

from pliant import LABRBFRegressor, save
from pliant.persistence import load_file

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = LABRBFRegressor(random_state=0).fit(X, y)

# %%
# ``metadata`` accepts any JSON-compatible object. It is returned with the model, along with the
# version of pliant that wrote the file.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "diabetes.pliant")
    save(model, path, metadata={"data": "diabetes", "unit": "progression after one year"})
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    loaded = load_file(path)
print(loaded.metadata)

# %%
# The loaded model is an ordinary estimator, ready to predict and to plot.

import matplotlib.pyplot as plt

from pliant.plots import RelevanceDisplay

again = loaded.model
figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
RelevanceDisplay.from_estimator(again, feature_names=list(X.columns), ax=ax)
ax.set_title("a loaded model")
plt.show()

# %%
# ``summary()`` has the same form for all methods of pliant, and prints as a table.

print(again.summary())

# %%
# The loaded model makes the same predictions as the saved one.

difference = np.abs(again.predict(X) - model.predict(X)).max()
print(f"largest difference of the predictions: {difference}")
