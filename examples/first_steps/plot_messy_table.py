"""
From a messy table to predictions
=================================

A typical office table has semicolons, decimal commas, dates, names, missing values, an id column
and a constant column. pliant infers the roles of its columns, and one pipeline learns from them.
"""

# %%
# `write_rentals` writes such a table, the daily revenue of rental stations.

# sphinx_gallery_thumbnail_number = 1

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from pliant import LABRBFRegressor, TableFeatures
from pliant.datasets import write_rentals
from pliant.tables import detect_format, read_table

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "rentals.csv")
    write_rentals(path, random_state=0)
    print(*path.read_text(encoding="utf-8").splitlines()[:3], sep="\n")
    print(detect_format(path).described)
    frame = read_table(path)

# %%
# `TableFeatures` learns the roles of the columns and their encoding from the training rows alone.
# The remarks of its schema list the excluded columns and the reasons.

train, test = frame.iloc[:450], frame.iloc[450:]
model = make_pipeline(TableFeatures(), LABRBFRegressor(random_state=0))
model.fit(train.drop(columns="revenue"), train["revenue"])
print(*model[0].schema_.remarks(), sep="\n")

# %%
# The pipeline finds the columns of new rows by name.

predicted, revenue = model.predict(test), test["revenue"]

fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.plot(revenue, predicted, "o", alpha=0.6)
ax.plot([0, revenue.max()], [0, revenue.max()], color="gray", lw=1)
ax.set(xlabel="revenue", ylabel="prediction", title="held-out rows")
plt.show()

# %%
# These are the five most relevant features, with their names in the schema.

names = model[0].get_feature_names_out()
order = np.argsort(-model[-1].feature_relevance_)[:5]
print(*names[order], sep=", ")

# %%
# The model explains most of the variance on the rows of later days.

print(f"R2 on {len(test)} rows: {r2_score(revenue, predicted):.2f}")
