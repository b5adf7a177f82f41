"""Methods of the comparison of tables, by name; each imports its packages when it is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

Factory = Callable[[bool, int], Any]
"""(classification, seed) -> an unfitted estimator."""


def lab_rbf(classification: bool, seed: int) -> Any:
    from pliant import LABRBFClassifier, LABRBFRegressor

    return (LABRBFClassifier if classification else LABRBFRegressor)(random_state=seed)


def svm(classification: bool, seed: int) -> Any:
    """Return a Gaussian SVM tuned by five-fold cross-validation, with Platt's probabilities.

    At most 200 000 steps a fit: C = 1e6 takes hours on noisy tables without this limit.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    grid = {"C": [1, 100, 1e4, 1e6], "gamma": [0.001, 0.01, 0.1, 1.0]}
    if classification:
        search = GridSearchCV(SVC(max_iter=200_000), grid)
        return make_pipeline(StandardScaler(), _WithPlatt(search))
    search = GridSearchCV(SVR(max_iter=200_000), grid)
    scaled = TransformedTargetRegressor(search, transformer=StandardScaler())
    return make_pipeline(StandardScaler(), scaled)


class _WithPlatt(ClassifierMixin, BaseEstimator):
    """A search with its predictions, and calibrated probabilities of its best setting."""

    def __init__(self, search: Any) -> None:
        self.search = search

    def fit(self, X: Any, y: Any) -> _WithPlatt:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.svm import SVC

        self.search.fit(X, y)
        self.classes_ = self.search.classes_
        best = SVC(**self.search.best_params_, max_iter=200_000)
        self.calibrated_ = CalibratedClassifierCV(best, ensemble=False).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.search.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.calibrated_.predict_proba(X)


def random_forest(classification: bool, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    model = RandomForestClassifier if classification else RandomForestRegressor
    return model(n_estimators=500, random_state=seed)


def extra_trees(classification: bool, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    model = ExtraTreesClassifier if classification else ExtraTreesRegressor
    return model(n_estimators=500, random_state=seed)


def _tuned_default(prefix: str) -> Factory:
    """Return the meta-tuned defaults of pytabkit (Holzmüller, Grinsztajn, Steinwart 2024)."""

    def make(classification: bool, seed: int) -> Any:
        from pytabkit.models.sklearn import sklearn_interfaces as models

        name = f"{prefix}_TD_{'Classifier' if classification else 'Regressor'}"
        return getattr(models, name)(random_state=seed, n_threads=1, device="cpu", n_cv=1)

    return make


def catboost(classification: bool, seed: int) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    model = CatBoostClassifier if classification else CatBoostRegressor
    return _WithCategories(
        model(random_seed=seed, verbose=False, allow_writing_files=False, thread_count=1)
    )


class _WithCategories(BaseEstimator):
    """CatBoost that takes the categorical columns of a frame as its categories."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> _WithCategories:
        cats = list(X.select_dtypes("category")) if hasattr(X, "columns") else None
        self.model.fit(X, y, cat_features=cats)
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(X)


def lightgbm(classification: bool, seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    model = LGBMClassifier if classification else LGBMRegressor
    return model(random_state=seed, n_jobs=1, verbose=-1)


def xgboost(classification: bool, seed: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    model = XGBClassifier if classification else XGBRegressor
    return model(random_state=seed, n_jobs=1, enable_categorical=True)


def hist_boosting(classification: bool, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    model = HistGradientBoostingClassifier if classification else HistGradientBoostingRegressor
    return model(random_state=seed)


def gaussian_process(classification: bool, seed: int) -> Any:
    """Return a Gaussian process with a width for each feature (and noise) by evidence."""
    return _GaussianProcess(classification, seed)


class _GaussianProcess(BaseEstimator):
    def __init__(self, classification: bool, seed: int) -> None:
        self.classification = classification
        self.seed = seed

    def fit(self, X: Any, y: Any) -> _GaussianProcess:
        from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
        from sklearn.preprocessing import StandardScaler

        self.scaler_ = StandardScaler().fit(X)
        widths = RBF(np.full(X.shape[1], X.shape[1] ** 0.5), (1e-2, 1e4))
        kernel = ConstantKernel(1.0, (1e-3, 1e4)) * widths
        if self.classification:
            process = GaussianProcessClassifier(kernel, random_state=self.seed)
        else:
            noisy = kernel + WhiteKernel(0.1, (1e-6, 1e1))
            process = GaussianProcessRegressor(noisy, normalize_y=True, random_state=self.seed)
        self.process_ = process.fit(self.scaler_.transform(X), y)
        return self

    def predict(self, X: Any) -> Any:
        return self.process_.predict(self.scaler_.transform(X))

    def predict_proba(self, X: Any) -> Any:
        return self.process_.predict_proba(self.scaler_.transform(X))


def xrfm(classification: bool, seed: int) -> Any:
    """Return xRFM, tuned on a validation set of a fifth of the rows."""
    return _XRFM(classification, seed)


class _XRFM(BaseEstimator):
    """xRFM with a small grid, on standardised features and target; classes are 0, 1, ..."""

    def __init__(self, classification: bool, seed: int) -> None:
        self.classification = classification
        self.seed = seed

    def fit(self, X: Any, y: Any) -> _XRFM:
        import torch
        from sklearn.model_selection import train_test_split
        from sklearn.preprocessing import StandardScaler
        from xrfm import xRFM

        torch.set_num_threads(1)
        self.scaler_ = StandardScaler().fit(X)
        if self.classification:
            t, metric = y.astype(np.int64), "brier"
        else:
            self.mean_, self.scale_ = y.mean(), y.std() or 1.0
            t, metric = ((y - self.mean_) / self.scale_).astype(np.float32)[:, None], "mse"
        parts = train_test_split(
            self._scaled(X), t, test_size=0.2, random_state=self.seed,
            stratify=t if self.classification else None,
        )  # fmt: skip
        train, held_out, t_train, t_held_out = (torch.as_tensor(part) for part in parts)
        truth = np.eye(t.max() + 1)[parts[3]] if self.classification else parts[3]
        self.best_, lowest = None, np.inf
        for bandwidth in (2.0, 10.0, 40.0):
            for reg in (1e-3, 1e-1):
                settings = {
                    "model": {"kernel": "l2_high_dim", "bandwidth": bandwidth, "exponent": 1.0},
                    "fit": {"reg": reg, "iters": 5, "early_stop_rfm": True},
                }
                model = xRFM(settings, device="cpu", tuning_metric=metric, verbose=False)
                model.fit(train, t_train, held_out, t_held_out)
                values = model.predict_proba if self.classification else model.predict
                loss = float(((np.asarray(values(held_out)) - truth) ** 2).sum(axis=1).mean())
                if loss < lowest:
                    self.best_, lowest = model, loss
        return self

    def _scaled(self, X: Any) -> Any:
        return self.scaler_.transform(X).astype(np.float32)

    def predict(self, X: Any) -> Any:
        predicted = np.asarray(self.best_.predict(self._scaled(X))).ravel()
        return predicted if self.classification else predicted * self.scale_ + self.mean_

    def predict_proba(self, X: Any) -> Any:
        return self.best_.predict_proba(self._scaled(X))


CONTESTANTS: dict[str, Factory] = {
    "lab_rbf": lab_rbf,
    "svm": svm,
    "gaussian_process": gaussian_process,
    "random_forest": random_forest,
    "extra_trees": extra_trees,
    "hist_boosting": hist_boosting,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "xgboost": xgboost,
    "xrfm": xrfm,
    "realmlp_td": _tuned_default("RealMLP"),
    "catboost_td": _tuned_default("CatBoost"),
    "lightgbm_td": _tuned_default("LGBM"),
    "xgboost_td": _tuned_default("XGB"),
}

TITLES = {
    "lab_rbf": "LAB-RBF",
    "svm": "Gaussian SVM or SVR, tuned",
    "gaussian_process": "Gaussian process",
    "random_forest": "random forest",
    "extra_trees": "extremely randomised trees",
    "hist_boosting": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "xgboost": "XGBoost",
    "xrfm": "xRFM, small grid",
    "realmlp_td": "RealMLP-TD",
    "catboost_td": "CatBoost-TD",
    "lightgbm_td": "LightGBM-TD",
    "xgboost_td": "XGBoost-TD",
}

_OF_SCIKIT_LEARN = (
    "lab_rbf", "svm", "gaussian_process", "random_forest", "extra_trees", "hist_boosting",
)  # fmt: skip
_RIVALS = (
    "lightgbm", "catboost", "xgboost", "xrfm", "realmlp_td", "catboost_td", "lightgbm_td",
    "xgboost_td",
)  # fmt: skip

BY_DEFAULT: dict[str, tuple[str, ...]] = {
    "small": _OF_SCIKIT_LEARN,
    "fresh": _OF_SCIKIT_LEARN + _RIVALS,
    "older": _OF_SCIKIT_LEARN + _RIVALS,
}
"""Contestants of the sections; the first three of the rivals need a package each, xRFM its own, and
the TD variants pytabkit."""

NATIVE = (
    "catboost", "lightgbm", "xgboost", "hist_boosting", "realmlp_td", "catboost_td", "lightgbm_td",
    "xgboost_td",
)  # fmt: skip
"""Contestants that get categorical columns as such."""

ONE_SEED = ("svm", "gaussian_process", "hist_boosting", "lightgbm", "xgboost")
"""Contestants without random draws on tables of this size."""

MOST_ROWS = {"gaussian_process": 2000}
"""Largest numbers of training rows of contestants whose cost grows with their cube."""
