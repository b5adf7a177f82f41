"""Training and test rows of the public tables with categories and missing values, and scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import train_test_split

from pliant.tables.comparison.metrics import Predictions

TRAIN_SHARE, MOST_TRAIN, MOST_TEST = 0.7, 3000, 5000
"""Share of training rows, and maximum numbers of training and test rows."""

FOLDER = "fresh"


def manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest entry of each table by name."""
    entries = json.loads((folder / FOLDER / "MANIFEST.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in sorted(entries, key=lambda each: each["name"])}


def split(entry: Mapping[str, Any], seed: int, folder: Path) -> list[pd.DataFrame]:
    """Return the training and test rows of a table, with the column "target"."""
    classes = entry["task"] == "classification"
    texts = dict.fromkeys([*entry["cats"], *(["target"] if classes else [])], object)
    path = folder / FOLDER / entry["file"]
    frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    strata = frame["target"] if classes else None
    train, test = train_test_split(
        frame, train_size=TRAIN_SHARE, random_state=seed, stratify=strata
    )
    train, test = train[:MOST_TRAIN], test[:MOST_TEST]
    if classes:
        test = test[test["target"].isin(train["target"].unique())]
    return [train.reset_index(drop=True), test.reset_index(drop=True)]


def scores_of(y: Any, predictions: Predictions) -> dict[str, float]:
    if predictions.classes is None:
        return {"r2": float(r2_score(y, predictions.values))}
    probability = predictions.probability
    scores = {"accuracy": float(accuracy_score(y, predictions.values))}
    if probability is not None:
        order = np.argsort(predictions.classes)  # scikit-learn sorts the labels
        clipped = np.clip(probability[:, order], 1e-6, 1)
        clipped /= clipped.sum(axis=1, keepdims=True)
        loss = log_loss(y, clipped, labels=predictions.classes[order])
        scores["log_loss"] = float(loss)
    return scores
