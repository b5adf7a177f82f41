"""Measure how the rules for new points do beside a tuned Gaussian SVM, on small public sets.

    PLIANT_DATA=folder python docs/numbers/extension_rules.py [repeats]

Random halves for training and testing, stratified, repeated; features scaled to [0, 1] by the
training half. Each contestant chooses C and sigma for itself, by five-fold cross-validation on
the training half, both in 2^-5, 2^-4, ..., 2^5. Writes extension_rules.csv beside this file.
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from pliant import C_path, DANKClassifier
from pliant.comparison import corrected_t_test, random_halves
from pliant.datasets import load_local
from pliant.kernels.hadamard import EXTENSIONS

SETS = (
    "fertility", "sonar", "heart_statlog", "haberman", "ionosphere", "diabetic_retinopathy",
)  # fmt: skip
POWERS = 2.0 ** np.arange(-5, 6)
CONTESTANTS = ("SVM", *EXTENSIONS)
TABLE = Path(__file__).with_suffix(".csv")


def path(X, y, gamma, Cs):
    """Fit the SVM and DANK for each C; return two lists of models."""
    svms = [SVC(C=C, gamma=gamma).fit(X, y) for C in Cs]
    return svms, C_path(DANKClassifier(gamma=gamma), X, y, Cs)


def accuracies(svm, dank, X, y):
    """Return the accuracy of each contestant."""
    scores = [svm.score(X, y)]
    for rule in EXTENSIONS:
        dank.kernel_.set_params(extension=rule)
        scores.append(dank.score(X, y))
    return scores


def chosen(X, y, repeat):
    """Return for each contestant the C and gamma with the best cross-validated accuracy."""
    gammas = 1.0 / (2.0 * POWERS**2)
    scores = np.zeros((len(gammas), len(POWERS), len(CONTESTANTS)))
    folds = StratifiedKFold(5, shuffle=True, random_state=repeat)
    for train, valid in folds.split(X, y):
        for g, gamma in enumerate(gammas):
            models = zip(*path(X[train], y[train], gamma, POWERS), strict=True)
            scores[g] += [accuracies(*pair, X[valid], y[valid]) for pair in models]
    best = scores.reshape(-1, len(CONTESTANTS)).argmax(axis=0)
    return [(POWERS[k % len(POWERS)], gammas[k // len(POWERS)]) for k in best]


def test_scores(X, y, train, test, repeat):
    """Return the test accuracy of each contestant on one split."""
    scaler = MinMaxScaler().fit(X[train])
    Z, Z_test = scaler.transform(X[train]), scaler.transform(X[test])
    scores = []
    for k, (C, gamma) in enumerate(chosen(Z, y[train], repeat)):
        (svm,), (dank,) = path(Z, y[train], gamma, [C])
        scores.append(accuracies(svm, dank, Z_test, y[test])[k])
    return scores


def measure(name, repeats):
    """Return one row of the table."""
    data = load_local(name)
    splits = enumerate(random_halves(data.y, repeats, stratify=True))
    scores = np.array([test_scores(data.X, data.y, *split, k) for k, split in splits])
    smooth, svm = scores[:, CONTESTANTS.index("smooth")], scores[:, 0]
    test = corrected_t_test(smooth, svm, n_train=1, n_test=1)
    cells = [f"{100 * column.mean():.1f} ± {100 * column.std(ddof=1):.1f}" for column in scores.T]
    return [name, *cells, f"{test.p_value:.2f}"]


def main(repeats):
    """Write the table, set by set."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", *CONTESTANTS, "smooth against SVM, p"])
        for name in SETS:
            start = time.perf_counter()
            writer.writerow(measure(name, repeats))
            file.flush()
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
