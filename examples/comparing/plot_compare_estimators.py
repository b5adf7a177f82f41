"""
Your own estimators in a comparison
===================================

``compare`` takes names of methods and any estimator of scikit-learn, all on the same folds.
"""

# %%
# A pipeline, a grid search and a forest beside LAB-RBF. An estimator is fitted as it is: put a
# scaler into its pipeline if it needs one, and a ``GridSearchCV`` around it if it should be tuned.

# sphinx_gallery_thumbnail_number = 1

from sklearn.datasets import make_friedman2
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pliant import LABRBFRegressor, compare

X, y = make_friedman2(300, noise=50.0, random_state=0)
neighbors = make_pipeline(StandardScaler(), KNeighborsRegressor())
methods = [
    ("cubic", make_pipeline(StandardScaler(), PolynomialFeatures(3), RidgeCV())),
    ("neighbours", GridSearchCV(neighbors, {"kneighborsregressor__n_neighbors": [3, 5, 10]})),
    ("trees", ExtraTreesRegressor(200, random_state=0)),
    ("LAB-RBF", LABRBFRegressor(random_state=0)),
]
result = compare(X, y, methods=methods, folds=5, repeats=1, metric="r2", budget=None, n_jobs=1)
print(result.leaderboard[["title", "mean", "error"]].round(3).to_string())

# %%
# The scores of each fold: all methods have the same folds, so their scores go up and down together,
# and differences can be tested.

import matplotlib.pyplot as plt

scores = result.scores.query("metric == 'r2'")
scores = scores.pivot(index="fold", columns="method", values="value")
scores = scores[scores.mean().sort_values().index]
figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
for height, name in enumerate(scores):
    ax.plot(scores[name], [height] * len(scores), "o", alpha=0.6)
ax.set_yticks(range(scores.shape[1]), scores.columns)
ax.set(xlabel="R2 of each of five folds")
plt.show()

# %%
# The model to use is a blend of those that a model file can hold. ``fit_best`` fits it on all rows,
# or any other method that was compared.

print(result.sentence())
model, trees = result.fit_best(), result.fit_best("trees")
print(f"{model.predict(X[:1])[0]:.1f}; the trees alone predict {trees.predict(X[:1])[0]:.1f}")
