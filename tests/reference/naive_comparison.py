"""A slow reference for nested cross-validation: explicit loops that call scikit-learn directly.

The random draws follow the documentation; pliant is not used. A table is X (NaN for missing
numbers or categories), y, and the number of categories of each categorical column.

* outer folds of repeat r: shuffled, stratified for classification, with ``random_state = seed + r``
* seed of a cell: the first 31 bits below the sign of SHA-256("seed/method/repeat/fold")
* candidates: ``ParameterSampler`` with the cell's seed; the same for inner folds and rows of rounds
* inner folds: the given number, or 5 below 1000 rows and 3 otherwise; at most the number of rows or
  groups of the rarest class, or half the rows or groups of a regression
* rounds: all candidates on few rows, the best third of them on three times as many, ...; the mean
  score over the inner folds decides, and ties in the last round go to the first candidate
* a search for the log loss of a method without probabilities uses the accuracy
* faster settings of a method apply to the fits of a search: DANK of full rank, tolerance .001
* imputation, encoding and scaling are learned from the rows of each fit
* probabilities from decision values: Platt's sigmoid of each class, fitted to the held-out values
  of three inner folds, with the settings of the final fit; none for time order, or if an inner fold
  lacks a class
* the predictions or probabilities of all test rows are stored, to 7 digits
"""

import hashlib
import math

import numpy as np
from scipy.optimize import minimize
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ParameterSampler,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils import resample

from pliant import DANKClassifier, DANKRegressor, LearnedKernelClassifier, LogDetLearner


def on_learned_kernel(seed):
    """A support vector machine on the kernel of a learner, which each fit learns again."""
    machine = DANKClassifier("precomputed", eta=math.inf, extension="none")
    return LearnedKernelClassifier(LogDetLearner(random_state=seed), machine)


CLASSIFIERS = {
    "dummy": lambda seed: DummyClassifier(random_state=seed),
    "linear": lambda seed: LogisticRegression(max_iter=2000, random_state=seed),
    "svm": lambda seed: SVC(random_state=seed),
    "dank": lambda seed: DANKClassifier(),
    "ldk": on_learned_kernel,
}
REGRESSORS = {
    "dummy": lambda seed: DummyRegressor(),
    "linear": lambda seed: Ridge(random_state=seed),
    "svm": lambda seed: SVR(),
    "dank": lambda seed: DANKRegressor(),
}
STRENGTHS = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
PRICES = [0.125, 0.5, 2.0, 8.0, 32.0, 128.0, 512.0, 2048.0]
WIDTHS = [1 / 16, 1 / 4, 1.0, 4.0]
ROUGH = {"dank": {"tau": 0.0, "tol": 1e-3}}


def grid(method, task, n_columns):
    """Return the candidates of a method."""
    if method == "dummy":
        return {}
    if method == "linear":
        return {"C" if task == "classification" else "alpha": STRENGTHS}
    if method == "ldk":
        widths = [1.0 / n_columns * width for width in WIDTHS]
        return {"learner__gamma": widths, "machine__C": [0.125, 1.0, 8.0, 64.0, 512.0]}
    return {"C": PRICES, "gamma": [1.0 / n_columns * width for width in WIDTHS]}


def cell_seed(seed, method, repeat, fold):
    digest = hashlib.sha256(f"{seed}/{method}/{repeat}/{fold}".encode()).hexdigest()
    return int(digest[:8], 16) % 2**31


def splits(y, task, groups, ordered, n_folds, seed):
    """Yield training and test rows of each fold."""
    rows = np.zeros((len(y), 1))
    if ordered:
        return list(TimeSeriesSplit(n_folds).split(rows))
    kinds = {
        ("classification", False): StratifiedKFold,
        ("regression", False): KFold,
        ("classification", True): StratifiedGroupKFold,
        ("regression", True): GroupKFold,
    }
    kind = kinds[task, groups is not None]
    return list(kind(n_folds, shuffle=True, random_state=seed).split(rows, y, groups))


def inner_folds(y, task, groups, ordered, protocol, seed):
    """Return the folds of a search with more than one training value."""
    wanted = protocol["inner_folds"] or (5 if len(y) < 1000 else 3)
    labels = np.unique(y) if task == "classification" else [None]
    for label in labels:  # each class (or all rows) needs a row or a group in every fold
        mine = np.full(len(y), True) if label is None else y == label
        most = len(set(groups[mine])) if groups is not None else int(mine.sum())
        wanted = min(wanted, most if label is not None or groups is not None else most // 2)
    found = splits(y, task, groups, ordered, wanted, seed)
    return [(learn, test) for learn, test in found if len(np.unique(y[learn])) > 1]


class Prepared:
    """Impute, encode and scale features by the training rows."""

    def __init__(self, X, categories):
        self.texts = sorted(categories)
        self.numbers = [j for j in range(X.shape[1]) if j not in categories]
        self.marked = [j for j in self.numbers if np.isnan(X[:, j]).any()]
        self.medians = SimpleImputer(strategy="median", keep_empty_features=True)
        self.encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self.medians.fit(X[:, self.numbers])
        if self.texts:
            self.encoder.fit(X[:, self.texts])
        self.scaler = StandardScaler().fit(self.filled(X))

    def filled(self, X):
        blocks = [self.medians.transform(X[:, self.numbers])]
        blocks.append(np.isnan(X[:, self.marked]).astype(float))
        if self.texts:
            blocks.append(self.encoder.transform(X[:, self.texts]))
        return np.ascontiguousarray(np.hstack(blocks))

    def __call__(self, X):
        return self.scaler.transform(self.filled(X))


class Fitted:
    """A model fitted to prepared features and, for regression, a scaled target."""

    def __init__(self, method, task, settings, X, y, categories, seed):
        self.prepared = Prepared(X, categories)
        self.scaled = None
        if task == "classification":
            machine = CLASSIFIERS[method](seed)
        else:
            machine = REGRESSORS[method](seed)
        if task == "regression":
            self.scaled = StandardScaler().fit(y[:, None])
            y = self.scaled.transform(y[:, None])[:, 0]
        self.machine = machine.set_params(**settings).fit(self.prepared(X), y)

    def predict(self, X):
        found = self.machine.predict(self.prepared(X))
        return found if self.scaled is None else self.scaled.inverse_transform(found[:, None])[:, 0]

    def decision(self, X):
        return self.machine.decision_function(self.prepared(X))

    def probability(self, X):
        return self.machine.predict_proba(self.prepared(X))


def rounds(n_rows, n_candidates, y, task, search_rows):
    """Return the number of rows of each round."""
    most = min(n_rows, search_rows)
    rarest = 1.0
    if task == "classification":
        rarest = min(np.mean(y == label) for label in np.unique(y))
    least = max(150, math.ceil(10 / rarest))
    n_rounds = 1
    while n_candidates >= 3**n_rounds and most // 3**n_rounds >= least:
        n_rounds += 1
    first = most // 3 ** (n_rounds - 1)
    return [first * 3**number for number in range(n_rounds)]


def searched(method, table, rows, protocol, seed):
    """Return the best settings on inner folds."""
    X, y, task, categories = table["X"][rows], table["y"][rows], table["task"], table["categories"]
    n_columns = X.shape[1] - len(categories) + sum(categories.values())
    choices = grid(method, task, n_columns)
    if not choices:
        return {}
    size = math.prod(len(values) for values in choices.values())
    n_candidates = min(size, protocol["candidates"])
    candidates = list(ParameterSampler(choices, n_candidates, random_state=seed))
    groups = None if table["groups"] is None else table["groups"][rows]
    inner = inner_folds(y, task, groups, table["ordered"], protocol, seed)
    metric = protocol["metric"] or ("accuracy" if task == "classification" else "r2")
    for number, n_rows in enumerate(
        taken := rounds(len(rows), n_candidates, y, task, protocol["search_rows"])
    ):
        means = []
        for settings in candidates:
            scores = []
            for learn, test in inner:
                share = n_rows / len(rows)
                learn = resample(
                    learn, replace=False, n_samples=int(share * len(learn)), random_state=seed
                )
                test = resample(
                    test, replace=False, n_samples=int(share * len(test)), random_state=seed
                )
                rough = settings | ROUGH.get(method, {})
                model = Fitted(method, task, rough, X[learn], y[learn], categories, seed)
                scores.append(measured(metric, model, X[test], y[test]))
            means.append(np.mean(scores))
        if number < len(taken) - 1:
            best = np.argsort(means)[-math.ceil(len(candidates) / 3) :]
            candidates = [candidates[k] for k in best]
    return candidates[int(np.argmax(means))]


def platt(values, positive):
    """Return a and b of the sigmoid 1 / (1 + exp(-(a f + b))) by Platt's targets."""
    n_positive, n_negative = positive.sum(), (~positive).sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    scale = max(1.0, np.abs(values).max())

    def loss(ab):
        z = ab[0] * values / scale + ab[1]
        p = 1 / (1 + np.exp(-z))
        slope = p - target
        gradient = [np.sum(slope * values / scale), np.sum(slope)]
        return np.sum(np.logaddexp(0, z) - target * z), np.array(gradient)

    found = minimize(loss, [0.0, 0.0], jac=True, method="BFGS", options={"gtol": 1e-9})
    return found.x[0] / scale, found.x[1]


def measured(metric, model, X, y):
    """Return the metric of a search; higher is better."""
    if metric == "log_loss" and hasattr(model.machine, "predict_proba"):
        return -log_loss(y, model.probability(X), labels=model.machine.classes_)
    better = r2_score if metric == "r2" else accuracy_score
    return better(y, model.predict(X))


def calibrated(model, method, settings, table, train, test, protocol, seed):
    """Return probabilities of the test rows from inner decision values, or None."""
    X, y, categories = table["X"], table["y"], table["categories"]
    classes = model.machine.classes_
    groups = None if table["groups"] is None else table["groups"][train]
    three = protocol | {"inner_folds": min(3, protocol["inner_folds"] or 3)}
    inner = inner_folds(y[train], table["task"], groups, table["ordered"], three, seed)
    values, truth = [], []
    for learn, held in inner:
        learn, held = train[learn], train[held]
        if len(np.unique(y[learn])) < len(classes):
            return None
        part = Fitted(method, table["task"], settings, X[learn], y[learn], categories, seed)
        values += part.decision(X[held]).tolist()
        truth += y[held].tolist()
    if len(truth) < len(train):
        return None
    values, truth = np.array(values), np.array(truth)
    decision = model.decision(X[test])
    if len(classes) == 2:
        a, b = platt(values, truth == classes[1])
        positive = 1 / (1 + np.exp(-(a * decision + b)))
        return np.column_stack([1 - positive, positive])
    columns = []
    for k, label in enumerate(classes):
        a, b = platt(values[:, k], truth == label)
        columns.append(1 / (1 + np.exp(-(a * decision[:, k] + b))))
    probability = np.column_stack(columns)
    return probability / probability.sum(axis=1, keepdims=True)


def cell(method, table, protocol, repeat, fold):
    """Return scores, selected settings, and the stored predictions of one cell."""
    X, y, task = table["X"], table["y"], table["task"]
    outer = splits(
        y, task, table["groups"], table["ordered"], protocol["folds"], protocol["seed"] + repeat
    )
    train, test = outer[fold]
    seed = cell_seed(protocol["seed"], method, repeat, fold)
    chosen = searched(method, table, train, protocol, seed)
    model = Fitted(method, task, chosen, X[train], y[train], table["categories"], seed)
    predicted = model.predict(X[test])
    found = {"chosen": chosen, "rows": test.tolist()}
    if task == "regression":
        measures = {"r2": r2_score, "rmse": root_mean_squared_error, "mae": mean_absolute_error}
        scores = {name: f(y[test], predicted) for name, f in measures.items()}
        return found | {"values": predicted, "scores": scores}
    if hasattr(model.machine, "predict_proba"):
        probability = model.probability(X[test])
        ranking = probability[:, 1]
    else:
        probability = calibrated(model, method, chosen, table, train, test, protocol, seed)
        ranking = model.decision(X[test])
    classes = model.machine.classes_
    loss = None if probability is None else log_loss(y[test], probability, labels=classes)
    if len(classes) == 2:
        auc = roc_auc_score(y[test] == classes[1], ranking)
    else:
        auc = roc_auc_score(y[test], probability, multi_class="ovr", labels=classes)
    scores = {
        "accuracy": accuracy_score(y[test], predicted),
        "balanced_accuracy": balanced_accuracy_score(y[test], predicted),
        "log_loss": loss,
        "auc": auc,
    }
    return found | {"values": probability, "scores": scores}
