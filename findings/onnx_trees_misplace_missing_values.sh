#!/usr/bin/env bash
# skl2onnx 1.20.0 with scikit-learn 1.9.1: trees and forests that were fitted with missing values
# predict other numbers for them in ONNX Runtime 1.32.0.
#
# Guess before the run: The predictions agree to rounding, also in rows with missing values.
# Seen: Rows without gaps agree to 1e-6. Of the rows with gaps, 36 % (tree) and 86 % (forest)
#   differ, by up to 4.9 at a target of standard deviation 1.8. Nothing is said at conversion or
#   prediction.
# Why it matters: scikit-learn keeps for each split the side of missing values; the graph sends
#   them to one side. A forest that was a trusted baseline in Python is not in production.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scikit-learn==1.9.1 skl2onnx==1.20.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)).astype(np.float32)
X[rng.random(X.shape) < 0.2] = np.nan
y = np.nan_to_num(X[:, 0], nan=3.0) + np.nan_to_num(X[:, 1], nan=-2.0)
gaps = np.isnan(X).any(axis=1)
for model in (DecisionTreeRegressor(max_depth=5), RandomForestRegressor(20)):
    model.set_params(random_state=0).fit(X, y)
    graph = to_onnx(model, X[:1]).SerializeToString()
    session = onnxruntime.InferenceSession(graph)
    found = session.run(None, {session.get_inputs()[0].name: X})[0].ravel()
    error = np.abs(found - model.predict(X))
    print(type(model).__name__, error[~gaps].max(), error[gaps].max(), (error[gaps] > 1e-3).mean())
    assert error[~gaps].max() < 1e-5
    assert error[gaps].max() > 1.0
    assert (error[gaps] > 1e-3).mean() > 0.2
PYTHON
echo "onnx_trees_misplace_missing_values: as described"
