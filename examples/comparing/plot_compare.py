"""
Which kernel helps on my data?
==============================

Compare methods on one table, all on the same folds and each tuned inside them, and read the result:
first the sentence, then the intervals, then the learning curves.
"""

# %%
# 200 rows of ten features, of which five matter, each in its own way. With ``budget=None`` the
# comparison takes as long as it takes; ``pliant compare TABLE --target COLUMN`` does the same for a
# file, with all methods, within five minutes. LAB-RBF is taken with its default settings here: an
# empty grid leaves nothing to search.

# sphinx_gallery_thumbnail_number = 1

from dataclasses import replace

from sklearn.datasets import make_friedman1

from pliant import compare
from pliant.registry import METHODS

X, y = make_friedman1(200, noise=1.0, random_state=0)
methods = ["dummy", "linear", "svm", "dank", replace(METHODS["lab-rbf"], grid={})]
result = compare(X, y, methods=methods, folds=5, repeats=1, budget=None)
print(result.sentence())

# %%
# The leaderboard is a data frame. ``difference`` is to the tuned Gaussian SVM on the same folds,
# and ``p_value`` the corrected t test's, after Holm's correction for the number of methods.

print(result.leaderboard[["title", "mean", "error", "difference", "p_value"]].round(3).to_string())

# %%
# On the left means with standard errors, which know that training rows overlap. On the right what
# methods reach with fewer training rows: a curve that still rises says that more rows would
# help.

import numpy as np
from matplotlib import pyplot as plt

places = [place for place in result.standings() if place.method.name != "dummy"]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for height, place in enumerate(reversed(places)):
    colour = "black" if place.is_reference else f"C{height}"
    left.errorbar(place.mean, height, xerr=place.error, fmt="o", color=colour, capsize=4)
    records = [record for record in result.records if record["method"] == place.method.name]
    curves = [record["curve"] for record in records if record["curve"]]
    rows, scores = np.mean(curves, axis=0).T
    right.plot(rows, scores, "o-", color=colour, label=place.method.title)
left.set_yticks(range(len(places)), [place.method.title for place in reversed(places)])
left.set(xlabel="R2 on rows not learned from", title="mean and standard error")
right.set(xlabel="training rows", ylabel="R2", title="learning curves")
right.legend()
plt.show()

# %%
# What a method chose in each fold is in the records, with times, support points and warnings;
# ``result.report("report.html")`` puts all of it on one page.

for record in result.records:
    if record["method"] == "svm":
        print(record["fold"], record["chosen"], record["support"], "support points")
