"""
Your own estimators in a comparison
===================================

``compare`` accepts names of methods and any scikit-learn estimator, and uses the same folds for all
of them.
"""

# %%
# A pipeline, a grid search and a forest are compared with LAB-RBF. An estimator is fitted as given:
# add a scaler to its pipeline if it needs one, and use a ``GridSearchCV`` to tune it.

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
# The figure shows the scores of each fold. All methods use the same folds, so their scores vary
# together, and differences can be tested.

import matplotlib.pyplot as plt

scores = result.scores.query("metric == 'r2'")
scores = scores.pivot(index="fold", columns="method", values="value")
scores = scores[scores.mean().sort_values().index]
figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
for height, name in enumerate(scores):
    ax.plot(scores[name], [height] * len(scores), "o", alpha=0.6)
ax.set_yticks(range(scores.shape[1]), scores.columns)
ax.set(xlabel="R2 on each of five folds")
plt.show()

# %%
# The best model is a blend of those methods that can be saved. ``fit_best`` fits it, or any of the
# compared methods, to all rows.

print(result.sentence())
model, trees = result.fit_best(), result.fit_best("trees")
print(f"{model.predict(X[:1])[0]:.1f}; the trees alone predict {trees.predict(X[:1])[0]:.1f}")
