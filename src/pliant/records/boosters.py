"""Convert the boosted trees of XGBoost, LightGBM and CatBoost, read from their own public dumps.

The sums of the trees agree with the library's own bit for bit. XGBoost computes probabilities in
float32, so they agree up to its rounding. No package is imported: a fitted model brings its own.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.typing import Array
from pliant.records.estimators import SavedClassifier, SavedRegressor
from pliant.records.nodes import Nodes, refuse, tree_ensemble


def _boosted(original: Any, function: Any, heads: dict[str, str], loss: str) -> Any:
    """Return the record for the loss of a booster; `heads` maps losses to heads or links."""
    if loss not in heads:
        refuse(original, f"the loss {loss}")
    if heads[loss] in SavedRegressor.LINKS:
        single = len(function.start) == 1
        record: Any = SavedRegressor.of(
            original, function=function, link=heads[loss], single=single
        )
    else:
        classes = np.array(original.classes_)
        record = SavedClassifier.of(original, function=function, head=heads[loss], classes_=classes)
    vars(record).pop("feature_names_in_", None)  # LightGBM invents names, and compares none
    record.n_features_in_ = function.n_features
    return record


XGBOOST = {
    **dict.fromkeys(("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"), "identity"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exp"),
    "binary:logistic": "logistic",
    "multi:softprob": "softmax",
}


def xgboost_record(original: Any) -> Any:
    """Return the record of a fitted XGBRegressor or XGBClassifier.

    A row, rounded to float32, goes left if x < split_condition. Sums are in float32: the margin of
    the base score, then leaf after leaf.
    """
    dump = json.loads(original.get_booster().save_raw("json"))["learner"]
    booster, loss = dump["gradient_booster"], dump["objective"]["name"]
    missing = original.get_params()["missing"]
    if booster["name"] != "gbtree" or (missing is not None and not np.isnan(missing)):
        refuse(original, f"booster={booster['name']!r}, missing={missing!r}")
    trees, groups = booster["model"]["trees"], booster["model"]["tree_info"]
    base = np.ravel(json.loads(dump["learner_model_param"]["base_score"])).astype(np.float32)
    k = max(max(groups) + 1, len(base))
    rounds = _rounds(original, booster["model"]["iteration_indptr"])
    margin = base
    if loss == "binary:logistic":
        margin = -np.log(1 / base - 1)  # in the operations of XGBoost
    elif XGBOOST.get(loss) == "exp":
        margin = np.log(base)
    function = tree_ensemble(
        [_xgboost_tree(original, tree) for tree in trees[:rounds]],
        groups[:rounds],
        np.broadcast_to(margin, k),
        n_features=int(dump["learner_model_param"]["num_feature"]),
        single=True,
        narrow=True,
    )
    record = _boosted(original, function, XGBOOST, loss)
    names = original.get_booster().feature_names
    if names and not all(name.isdigit() for name in names):  # texts stand for numbered columns
        record.feature_names_in_ = np.array(names, dtype=object)
    return record


def _rounds(original: Any, starts: Sequence[int]) -> int:
    """Return the number of trees that predict uses: up to the best round, if there is one."""
    try:
        return int(starts[original.best_iteration + 1])
    except AttributeError:
        return int(starts[-1])


def _xgboost_tree(original: Any, tree: dict[str, Any]) -> Nodes:
    if any(tree["split_type"]):
        refuse(original, "a categorical split")
    conditions = np.asarray(tree["split_conditions"], dtype=np.float32)
    below = np.nextafter(conditions, np.float32(-np.inf))  # x < c is x <= below, in float32
    left = np.asarray(tree["left_children"])
    return Nodes(
        feature=np.asarray(tree["split_indices"]),
        threshold=below.astype(np.float64),
        left=left,
        right=np.asarray(tree["right_children"]),
        missing_left=np.asarray(tree["default_left"], dtype=np.bool_),
        values=conditions.astype(np.float64)[:, None],  # of leaves
    )


LIGHTGBM = {
    **dict.fromkeys(
        ("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    "binary": "logistic",
    "multiclass": "softmax",
}


def lightgbm_record(original: Any) -> Any:
    """Return the record of a fitted LGBMRegressor or LGBMClassifier.

    A row in float64 goes left if x <= threshold. NaN goes to the default, or counts as 0 if
    training had no missing values. The trees contain the initial prediction.
    """
    booster = original.booster_
    dump = booster.dump_model(num_iteration=booster.best_iteration)
    loss, *options = dump["objective"].split()
    plain = [word for word in options if not word.startswith(("num_class:", "alpha:", "c:"))]
    if plain not in ([], ["sigmoid:1"]) and LIGHTGBM.get(loss) != "exp":
        refuse(original, f"the objective {dump['objective']!r}")
    k, trees = dump["num_tree_per_iteration"], dump["tree_info"]
    function = tree_ensemble(
        [_lightgbm_tree(original, each["tree_structure"]) for each in trees],
        [t % k for t in range(len(trees))],
        np.zeros(k),
        n_features=dump["max_feature_idx"] + 1,
        divisor=float(len(trees) // k) if dump["average_output"] else 1.0,
    )
    return _boosted(original, function, LIGHTGBM, loss)


def _lightgbm_tree(original: Any, root: dict[str, Any]) -> Nodes:
    """Number the nodes from the root on, children after their parents."""
    nodes: list[dict[str, Any]] = [root]
    children: list[tuple[int, int]] = []
    for node in nodes:  # grows
        if "leaf_coeff" in node:
            refuse(original, "linear_tree=True")
        if "leaf_value" in node:
            children.append((-1, -1))
            continue
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            refuse(original, "a categorical split, or zero_as_missing=True,")
        children.append((len(nodes), len(nodes) + 1))
        nodes += [node["left_child"], node["right_child"]]
    threshold = np.array([node.get("threshold", 0.0) for node in nodes])
    default = np.array([bool(node.get("default_left")) for node in nodes])
    as_zero = np.array([node.get("missing_type") == "None" for node in nodes])
    left, right = np.array(children).T
    return Nodes(
        feature=np.array([node.get("split_feature", 0) for node in nodes]),
        threshold=threshold,
        left=left,
        right=right,
        missing_left=np.where(as_zero, threshold >= 0, default),
        values=np.array([[node.get("leaf_value", 0.0)] for node in nodes]),
    )


CATBOOST = {
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "Huber", "MAPE", "LogCosh"), "identity"),
    "Logloss": "logistic",
    "CrossEntropy": "logistic",
    "MultiClass": "softmax",
}


def catboost_record(original: Any) -> Any:
    """Return the record of a fitted CatBoostRegressor or CatBoostClassifier.

    Bit i of the number of a leaf is x > border of split i, in float32. The bias is added last.
    """
    with tempfile.TemporaryDirectory() as folder:
        original.save_model(str(Path(folder) / "model.json"), format="json")
        dump = json.loads((Path(folder) / "model.json").read_text("utf-8"))
    features = dump["features_info"]
    scale, bias = dump["scale_and_bias"]
    if "oblivious_trees" not in dump or features.get("categorical_features") or scale != 1:
        refuse(original, "another grow_policy than 'SymmetricTree', or a categorical feature,")
    columns = {
        each["feature_index"]: (each["flat_feature_index"], each["nan_value_treatment"])
        for each in features["float_features"]
    }
    k = len(bias)
    trees = dump["oblivious_trees"]
    function = tree_ensemble(
        [_catboost_tree(original, tree, columns, k) for tree in trees],
        [0] * len(trees),
        np.zeros(k),
        n_features=len(original.feature_names_),
        single=True,
        offset=np.asarray(bias, dtype=np.float64),
    )
    loss = str(original.get_all_params()["loss_function"]).partition(":")[0]
    return _boosted(original, function, CATBOOST, loss)


def _catboost_tree(
    original: Any, tree: dict[str, Any], columns: dict[int, tuple[int, str]], k: int
) -> Nodes:
    """Return the full binary tree: the last split, of the highest bit, is the root."""
    splits = (tree.get("splits") or [])[::-1]
    if any(split["split_type"] != "FloatFeature" for split in splits):
        refuse(original, "a categorical split")
    leaves: Array = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(-1, k)
    n_inner = len(leaves) - 1
    # node j of level l is number 2^l - 1 + j; its children are 2 j and 2 j + 1 of the next level
    level = np.repeat(np.arange(len(splits)), 2 ** np.arange(len(splits)))
    number = np.arange(n_inner)
    each = [columns[split["float_feature_index"]] for split in splits]
    feature = np.array([column for column, _ in each], dtype=np.int64)
    border = np.array([split["border"] for split in splits], dtype=np.float32).astype(np.float64)
    missing = np.array([treatment != "AsTrue" for _, treatment in each], dtype=np.bool_)
    end = np.zeros(len(leaves), dtype=np.int64)
    return Nodes(
        feature=np.concatenate([feature[level], end]),
        threshold=np.concatenate([border[level], end]),
        left=np.concatenate([2 * number + 1, end - 1]),
        right=np.concatenate([2 * number + 2, end - 1]),
        missing_left=np.concatenate([missing[level], end > 0]),
        values=np.concatenate([np.zeros((n_inner, k)), leaves]),
    )


BOOSTERS: dict[str, Callable[[Any], Any]] = {
    **{f"xgboost.sklearn.XGB{kind}": xgboost_record for kind in ("Regressor", "Classifier")},
    **{f"lightgbm.sklearn.LGBM{kind}": lightgbm_record for kind in ("Regressor", "Classifier")},
    **{f"catboost.core.CatBoost{kind}": catboost_record for kind in ("Regressor", "Classifier")},
}
"""Converters by the full name of the class."""
