"""
A race that ends in a blend
===========================

Cross-validate several methods on one table, blend the best of them, and read the result: first the
sentence, then the intervals, then the weights.
"""

# %%
# 200 rows of ten features, of which five matter, each in its own way. With ``budget=None`` every
# method has all folds; ``pliant compare TABLE --target COLUMN`` does the same for a file within
# five minutes. Without ``methods`` the contenders are chosen for the table.

# sphinx_gallery_thumbnail_number = 1

from sklearn.datasets import make_friedman1

from pliant import compare

X, y = make_friedman1(200, noise=1.0, random_state=0)
methods = ["dummy", "linear", "svm", "boosting", "lab-rbf"]
result = compare(X, y, methods=methods, folds=5, repeats=1, budget=None)
print(result.sentence())

# %%
# The leaderboard is a data frame. ``difference`` is to the Gaussian SVM on the same folds, and
# ``p_value`` that of the corrected t test, after Holm's correction for the number of methods.

columns = ["title", "mean", "low", "high", "weight", "difference", "p_value"]
print(result.leaderboard[columns].round(3).to_string())

# %%
# On the left means with 90 % intervals, which account for the overlap of training rows. On the
# right the blend's predictions for rows that neither its members nor its weights learned from.

from matplotlib import pyplot as plt

places = [place for place in result.standings() if place.method.name != "dummy"]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for height, place in enumerate(reversed(places)):
    left.plot([place.low, place.high], [height, height], color=f"C{height}")
    left.plot(place.mean, height, "o", color=f"C{height}")
expected = result.expected
left.plot([expected.low, expected.high], [len(places)] * 2, color="black")
left.plot(expected.mean, len(places), "o", color="black")
titles = [place.method.title for place in reversed(places)]
left.set_yticks(range(len(places) + 1), [*titles, "Model to use"])
left.set(xlabel="R2 on held-out rows", title="mean and 90 % interval")
right.plot(result.blend.values, result.blend.y, "o", alpha=0.5, color="black", markersize=4)
right.axline((15, 15), slope=1, color="C1")
right.set(xlabel="predicted", ylabel="target", title="held-out rows")
plt.show()

# %%
# ``fit_best`` fits the model to use on all rows, and ``result.report("report.html")`` puts all of
# it on one page.

model = result.fit_best()
print({name: round(weight, 2) for name, weight in result.blend.weights.items()})
print(model.predict(X[:1]), "for a target of", y[0])
