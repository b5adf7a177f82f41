"""Learn a model of one table within a budget, in a process and an environment of its own.

    PYTHON benchmarks/budget_worker.py FOLDER

The folder has train.csv, test.csv (without a target) and task.json; this program adds result.json.
It imports nothing but the package that it measures, so that AutoGluon and FLAML may have their own
environment.
"""

import json
import os
import pickle
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

PACKAGES = {"fit": "pliant", "pliant": "pliant", "flaml": "flaml"}


def with_pliant(task, train, folder):
    """Return a model of `pliant.fit`, its members with their weights, and its size in bytes."""
    from pliant import fit, save

    X, y = train.drop(columns="target"), train["target"]
    options = {} if task["contestant"] == "fit" else {"n_jobs": task["cores"]}
    budget = None if task["contestant"] == "fit" else task["budget"]
    start = time.perf_counter()
    model = fit(X, y, budget=budget, task=task["task"], random_state=task["seed"], **options)
    took = time.perf_counter() - start
    save(model, folder / "model.pliant")
    last = model.steps[-1][1]
    contents = {type(last).__name__: 1.0}
    if contents.keys() & {"BlendClassifier", "BlendRegressor"}:
        contents = dict(zip(dict(last.members_), last.weights_.tolist(), strict=True))
    return model, took, contents, (folder / "model.pliant").stat().st_size


def with_autogluon(task, train, folder):
    from autogluon.tabular import TabularPredictor

    classes = task["task"] == "classification"
    start = time.perf_counter()
    predictor = TabularPredictor(
        "target",
        problem_type=None if classes else "regression",
        eval_metric="log_loss" if classes else "r2",
        path=str(folder / "models"),
        verbosity=0,
    ).fit(
        train,
        presets=f"{task['contestant'].removeprefix('autogluon-')}_quality",
        time_limit=task["budget"],
        num_cpus=task["cores"],
    )
    took = time.perf_counter() - start
    names = dict.fromkeys(predictor.model_names(), 1.0)
    return (
        predictor,
        took,
        {predictor.model_best: 1.0, "models": len(names)},
        predictor.disk_usage(),
    )


def with_flaml(task, train, folder):
    from flaml import AutoML

    classes = task["task"] == "classification"
    model = AutoML()
    start = time.perf_counter()
    model.fit(
        X_train=train.drop(columns="target"),
        y_train=train["target"],
        task=task["task"],
        metric="log_loss" if classes else "r2",
        time_budget=task["budget"],
        n_jobs=task["cores"],
        seed=task["seed"],
        verbose=0,
    )
    took = time.perf_counter() - start
    if model.model is None:
        raise ValueError("no model within the budget")
    return model, took, {str(model.best_estimator): 1.0}, len(pickle.dumps(model.model))


def read(path, texts):
    return pd.read_csv(path, dtype=dict.fromkeys(texts, object), keep_default_na=False,
                       na_values=[""])  # fmt: skip


def main(folder):
    """Measure one contestant, and write its predictions, times, size and contents."""
    task = json.loads((folder / "task.json").read_text("utf-8"))
    who, classes = task["contestant"], task["task"] == "classification"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: task["cores"]])
    train = read(folder / "train.csv", task["texts"])
    test = read(folder / "test.csv", task["texts"])
    learn = with_pliant if who in ("fit", "pliant") else with_flaml
    learn = with_autogluon if who.startswith("autogluon") else learn
    package = PACKAGES.get(who, "autogluon.tabular")
    result = {"version": f"{package} {version(package)}"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model, took, contents, size = learn(task, train, folder)
            start = time.perf_counter()
            values = model.predict(test)
            predicted = time.perf_counter() - start
            result |= {
                "values": np.asarray(values).ravel().tolist(),
                "seconds": {"fit": took, "predict": predicted},
                "contents": contents,
                "bytes": int(size),
            }
            if classes:
                known = getattr(model, "class_labels", None)  # AutoGluon
                known = model.classes_ if known is None else known
                result["classes"] = np.asarray(known).tolist()
                result["probability"] = np.asarray(model.predict_proba(test)).tolist()
        except Exception as error:
            result["error"] = f"{type(error).__name__}: {error}"[:300]
    result["warnings"] = [str(each.message)[:200] for each in caught
                          if "pliant" in str(each.category)
                          or "Convergence" in str(each.category)][:3]  # fmt: skip
    (folder / "result.json").write_text(json.dumps(result), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
