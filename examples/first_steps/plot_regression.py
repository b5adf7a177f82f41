"""
A first regression
==================

`LABRBFRegressor` needs no tuning: with its default settings it learns where a function varies
fast and which features are relevant. Here it is compared with two methods tuned by
cross-validation.
"""

# %%
# Friedman's first problem has ten features, of which five matter: a wave of two of them, the square
# of a third one, and two linear terms. The noise has the standard deviation 1, so the maximum R2 of
# a model is .96.

# sphinx_gallery_thumbnail_number = 1

from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

X, y = make_friedman1(1500, noise=1.0, random_state=0)
X, X_new, y, y_new = train_test_split(X, y, train_size=500, random_state=0)

# %%
# A support vector machine needs scaled features and targets, a penalty and a width; a forest needs
# fewer settings. LAB-RBF scales features by itself.

from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from pliant import LABRBFRegressor

grid = {"svr__C": [1, 10, 100], "svr__gamma": [0.03, 0.1, 0.3]}
svm = GridSearchCV(make_pipeline(StandardScaler(), SVR()), grid, cv=3)
models = {
    "forest": RandomForestRegressor(200, random_state=0),
    "tuned SVM": TransformedTargetRegressor(svm, transformer=StandardScaler()),
    "LAB-RBF": LABRBFRegressor(random_state=0),
}
scores = {name: model.fit(X, y).score(X_new, y_new) for name, model in models.items()}

# %%
# The figure shows the errors on 1000 new samples. A narrower distribution means a better model.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
errors = [model.predict(X_new) - y_new for model in models.values()]
parts = ax.violinplot(errors, orientation="horizontal", showextrema=False)
for body, colour in zip(parts["bodies"], ("#999999", "#999999", "#0072B2"), strict=True):
    body.set(facecolor=colour, alpha=0.8)
ax.set_yticks([1, 2, 3], [f"{name}\nR2 {score:.2f}" for name, score in scores.items()])
ax.set(xlim=(-6, 6), xlabel="prediction - target")
ax.axvline(0, color="black", linewidth=0.8)
plt.show()

# %%
# LAB-RBF explains most of the explainable variance with its default settings.

print(f"R2 on new samples: LAB-RBF {scores['LAB-RBF']:.3f}, tuned SVM {scores['tuned SVM']:.3f}")
