"""Small generated tables, in files with the names of the real sets."""

import gzip

import numpy as np

from papers.data import PaperSet
from papers.sample import Sample
from papers.study import contestant


def write_set(folder, name, X, y):
    header = ",".join([*(f"x{k}" for k in range(X.shape[1])), "target"])
    lines = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
    text = "\n".join([header, *lines]) + "\n"
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))


def rows(n=60, classes=2, seed=0):
    """Return three features in [0, 1], and a smooth function of them, or classes by its values."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 3))
    height = np.sin(5 * X[:, 0]) + 0.3 * X[:, 1] + 0.05 * rng.normal(size=n)
    if classes == 0:
        return X, height
    return X, np.digitize(height, np.quantile(height, np.arange(1, classes) / classes))


def sample(task="classification", n=60, classes=2):
    """Return halves of such rows; in regression the target is smooth and has no noise."""
    X, y = rows(n, classes)
    if task == "regression":
        y = np.sin(5 * X[:, 0]) + X[:, 1]
    chosen = PaperSet("heart", support=5, C=4.0, gamma=2.0, n_parts=2)
    return Sample("heart", task, X[::2], y[::2], X[1::2], y[1::2], chosen=chosen)


def small(key, candidates=2, **changes):
    """Return a declared contestant with few candidates of each parameter, and few rounds."""
    who = contestant(key)
    grid = {name: values[:candidates] for name, values in who.grid.items()}
    if "rounds" in grid:
        grid["rounds"] = [2, 4]
    few = {"max_iter": 5, "centres": 10, "max_pairs": 100, "steps": 5}
    few = {name: value for name, value in few.items() if hasattr(who, name)}
    options = getattr(who, "options", {})
    if "shapes" in vars(who):
        few["shapes"] = who.shapes[:1]
    if "n_estimators" in options:
        few["options"] = {"n_estimators": 5}
    return contestant(key, grid=grid, **few, **changes)
