"""
Comparing and blending methods
==============================

Cross-validate several methods on one table, blend the best of them, and read the result: a
summary, intervals, and weights.
"""

# %%
# The table has 200 rows of ten features; five features matter, in different ways. With
# ``budget=None`` every method runs on all folds; ``pliant compare TABLE --target COLUMN`` does the
# same for a file within five minutes. Without ``methods`` the contenders are selected for the
# table.

# sphinx_gallery_thumbnail_number = 1

from sklearn.datasets import make_friedman1

from pliant import compare

X, y = make_friedman1(200, noise=1.0, random_state=0)
methods = ["dummy", "linear", "svm", "boosting", "lab-rbf"]
result = compare(X, y, methods=methods, folds=5, repeats=1, budget=None)
print(result.sentence())

# %%
# The leaderboard is a data frame. ``difference`` is relative to the Gaussian SVM on the same folds,
# and ``p_value`` comes from the corrected t test, with Holm's correction for the number of methods.

columns = ["title", "mean", "low", "high", "weight", "difference", "p_value"]
print(result.leaderboard[columns].round(3).to_string())

# %%
# The left panel shows means with 90 % intervals, which account for the overlap of training rows.
# The right panel shows the blend's predictions for rows that were used to fit neither its members
# nor its weights.

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
left.set_yticks(range(len(places) + 1), [*titles, "Best model"])
left.set(xlabel="R2 on held-out rows", title="mean and 90 % interval")
right.plot(result.blend.values, result.blend.y, "o", alpha=0.5, color="black", markersize=4)
right.axline((15, 15), slope=1, color="C1")
right.set(xlabel="predicted", ylabel="target", title="held-out rows")
plt.show()

# %%
# ``fit_best`` fits the best model to all rows, and ``result.report("report.html")`` writes a report
# of all results.

model = result.fit_best()
print({name: round(weight, 2) for name, weight in result.blend.weights.items()})
print(model.predict(X[:1]), "for a target of", y[0])
