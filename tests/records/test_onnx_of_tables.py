"""ONNX Runtime predicts, from the columns of a table, what the model predicts."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from pliant import LABRBFClassifier, LABRBFRegressor, TableFeatures, load, save, to_onnx
from pliant.exceptions import UnknownCategoryWarning
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from pliant.tables.reading.columns import DATE_PARTS, calendar_features

LAB = {"n_support": 10, "n_members": 2, "max_iter": 2, "random_state": 0}


def table(seed, n=250):
    """Return a table of numbers, categories, booleans and dates, with missing cells."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, 9000 * 86_400, n)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "price (EUR)": np.exp(rng.normal(size=n)),
            "colour": rng.choice(["red", "blue", "sea green", "1"], n),
            "town": [f"town {k}" for k in rng.integers(0, 40, n)],
            "new": rng.random(n) < 0.5,
            "when": pd.Timestamp("1995-02-27 08:00") + pd.to_timedelta(seconds, unit="s"),
        }
    )
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    frame.loc[rng.random(n) < 0.1, "when"] = pd.NaT
    return frame


def target(frame, seed):
    rng = np.random.default_rng(seed)
    y = 50 + 5 * np.nan_to_num(frame["size"]) * frame["new"] + np.log(frame["price (EUR)"])
    return (y + (frame["colour"] == "red") + 0.2 * rng.normal(size=len(frame))).to_numpy(float)


def later_rows(seed):
    """Return rows with unknown categories, numbers far away, and dates of other centuries."""
    frame = table(seed, n=120)
    frame.loc[::5, "colour"] = "unknown"
    frame.loc[1::9, "colour"] = "1.0"
    frame.loc[::6, "town"] = "nowhere"
    frame.loc[::4, "size"] *= 1e3
    frame.loc[::3, "when"] += pd.Timedelta(days=50_000)
    frame.loc[1::3, "when"] -= pd.Timedelta(days=60_000)
    return frame


def run(model, frame, **options):
    """Return the outputs of ONNX Runtime with one thread, by name."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    graph = to_onnx(model, **options)
    onnx.checker.check_model(graph, full_check=True)
    threads = runtime.SessionOptions()
    threads.intra_op_num_threads = 1
    session = runtime.InferenceSession(graph.SerializeToString(), threads)
    feed = {}
    for each in session.get_inputs():
        cells = frame[each.name]
        if each.type == "tensor(string)":
            cells = cells.fillna("").astype(object).to_numpy()
        elif cells.dtype.kind == "M":
            cells = ((cells - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy(float)
        feed[each.name] = np.asarray(cells, dtype=object if each.type.endswith("g)") else float)
    values = session.run(None, feed)
    return dict(zip([output.name for output in session.get_outputs()], values, strict=True))


def assert_close(found, expected):
    size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * size)


def assert_same(model, frame):
    """Compare all outputs, intervals included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        if hasattr(model, "classes_"):
            found = run(model, frame)
            np.testing.assert_array_equal(found["label"], model.predict(frame))
            assert_close(found["probabilities"], model.predict_proba(frame))
            return
        found = run(model, frame, coverage=0.8)
        assert_close(found["predicted"], model.predict(frame))
        low, high = model.predict_interval(frame, 0.8).T
    assert_close(found["low"], low)
    assert_close(found["high"], high)


def members(task, seed):
    if task == "regression":
        svm = TransformedTargetRegressor(
            make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()
        )
        yield "svm", svm
        yield "boosting", HistGradientBoostingRegressor(max_iter=9)
        yield "trees", ExtraTreesRegressor(9, random_state=seed)
        yield "linear", make_pipeline(StandardScaler(), Ridge())
        yield "lab-rbf", LABRBFRegressor(**LAB)
        return
    yield "svm", CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), ensemble=False)
    yield "forest", RandomForestClassifier(9, random_state=seed)
    yield "linear", make_pipeline(StandardScaler(), LogisticRegression())
    yield "lab-rbf", LABRBFClassifier(**LAB)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("task", ["regression", 2, 3])
def test_blends_on_tables_agree(task, seed, tmp_path):
    """As loaded, on new rows with unknown and missing cells, some of them far away."""
    frame = table(seed)
    y = target(frame, seed)
    if task == "regression":
        blend = BlendRegressor(list(members(task, seed)), cv=2)
    else:
        blend = BlendClassifier(list(members(task, seed)), cv=2)
        y = np.array(["low", "mid", "top"])[np.digitize(y, np.quantile(y, [0.4, 0.7])[: task - 1])]
    model = make_pipeline(TableFeatures(), blend).fit(frame, y)
    blend.weights_ = np.full(len(blend.members_), 1 / len(blend.members_))
    save(model, tmp_path / "model.pliant")
    assert_same(load(tmp_path / "model.pliant"), later_rows(seed + 10))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("skewed", [True, False])
def test_intervals_of_lab_rbf_agree(skewed, dense, tmp_path):
    """With a transformed target, and with dense members."""
    frame = table(0)
    y = target(frame, 0) - 50
    y = np.sinh(y) if skewed else y
    last = LABRBFRegressor(**{**LAB, "n_members": 3, "dense": dense})
    model = make_pipeline(TableFeatures(), last).fit(frame, y)
    assert any(member.objective_ == "dense" for member in last.members_) is dense
    assert (last.target_unit_ is not None) is skewed
    save(model, tmp_path / "model.pliant")
    assert_same(load(tmp_path / "model.pliant"), later_rows(1))


def test_intervals_of_several_targets_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] + 0.1 * rng.normal(size=120)])
    model = LABRBFRegressor(**LAB).fit(X, Y)
    _, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model, coverage=0.9).SerializeToString())
    _, low, high = session.run(None, {"X": X})
    assert_close(np.stack([low, high], axis=-1), model.predict_interval(X))


def test_dates_have_the_bits_of_the_calendar_features():
    """From year 1 to year 9999, also at the ends of months and leap years."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from pliant.export.graph import OnnxGraph
    from pliant.export.tables import add_table

    graph = OnnxGraph(np.dtype("float64"))
    column = SimpleNamespace(name="d", kind="date", parts=DATE_PARTS, origin=100.0)
    features = add_table(graph, SimpleNamespace(columns=[column], form=None))
    graph.add_output("predicted", features, len(DATE_PARTS))
    session = runtime.InferenceSession(graph.build(1).SerializeToString())
    ends = [-719_162.0, 2_932_896.0, np.nan, 0.0, -0.25]
    days = np.concatenate([np.random.default_rng(0).uniform(*ends[:2], 5000), ends])
    days = np.append(days, np.arange(-30_000.0, 30_000.0))
    (found,) = session.run(None, {"d": days})
    np.testing.assert_array_equal(found, calendar_features(days, DATE_PARTS, 100.0))


def test_what_a_table_cannot_have_is_refused():
    pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["ant", "bee", "cat", "dog"], 6)) for _ in range(60)]
    frame = pd.DataFrame({"remark": words, "label": rng.choice(["a", "b"], 60)})
    model = make_pipeline(TableFeatures(), Ridge()).fit(frame, rng.normal(size=60))
    with pytest.raises(ValueError, match=r"expected columns without free text .* got 'remark'"):
        to_onnx(model)
    model = make_pipeline(TableFeatures(), Ridge()).fit(frame[["label"]], rng.normal(size=60))
    with pytest.raises(ValueError, match=r"expected another name of a column .* got 'label'"):
        to_onnx(model)
    ridge = make_pipeline(StandardScaler(), Ridge()).fit(rng.normal(size=(9, 2)), np.arange(9.0))
    with pytest.raises(ValueError, match="LAB-RBF regressor or a blend for intervals, got Saved"):
        to_onnx(ridge, coverage=0.9)
    with pytest.raises(ValueError, match="expected coverage < 1, got 1"):
        to_onnx(ridge, coverage=1.0)
