"""LAB-RBF on Dask collections, compared to fits in memory and to a slow twin."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pliant import LABRBFClassifier, LABRBFPaperRegressor, LABRBFRegressor
from pliant.methods.lab_rbf import collection
from pliant.persistence import load, save
from tests.methods.lab_rbf.building import build
from tests.reference import naive_dense

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

QUICK = {
    "n_support": 12,
    "n_members": 2,
    "max_iter": 4,
    "random_state": 0,
}
SIZE = 200
"""Number of sampled rows, fewer than the rows of the fit."""

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(900, 3))
Y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=900)
SKEWED = np.exp(3 * Y)
LABELS = np.array(["high", "low", "middle"])[np.digitize(Y, [-0.8, 0.8])]
WEIGHTS = RNG.integers(0, 3, size=900).astype(float)
NEW = RNG.uniform(-1.5, 1.5, size=(50, 3))


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def sampled(monkeypatch):
    monkeypatch.setattr(collection, "SAMPLE_ROWS", SIZE)


def partition(array, *lengths):
    """Split an array into partitions of given lengths and the remainder."""
    rest = len(array) - sum(lengths)
    return da.from_array(array, chunks=((*lengths, rest), *((d,) for d in array.shape[1:])))


def quick(**options):
    return build(LABRBFRegressor, **{**QUICK, **options})


def sample_of(model, *data):
    """Return the sample that a model is trained on."""
    encoder = getattr(model, "_label_encoder", None)  # of classifiers
    drawn = collection.draw_sample(*data, seed=model.random_state, encoder=encoder)
    return drawn.sample


def classifier(**options):
    return LABRBFClassifier(**{**QUICK, **options})


# If the sample contains all rows, the fit equals the fit in memory.


@pytest.mark.parametrize(
    ("model", "y", "weights"),
    [
        (quick(), Y, None),
        (quick(dtype="float64", calibration=0.2, dense=False), Y, None),
        (quick(dense=False), np.column_stack([Y, Y**2]), WEIGHTS),
        (quick(n_members=1, dense=False), np.exp(2 * SKEWED / SKEWED.max()), WEIGHTS),
        (quick(validation_fraction=0, alpha=1.0, shrinkage=0.1, dense=False), Y, None),
    ],
    ids=["plain", "calibrated", "two outputs", "logarithm", "all rows"],
)
def test_small_regression_equals_the_fit_in_memory(model, y, weights):
    here = clone(model).fit(X, y, weights)
    pieces = None if weights is None else partition(weights, 500)
    there = clone(model).fit(partition(X, 100, 0, 350), partition(y, 450, 200), pieces)
    np.testing.assert_array_equal(there.support_, here.support_)
    np.testing.assert_allclose(there.limits_, here.limits_, rtol=1e-12)
    new, atol = partition(NEW, 7, 0, 20), 1e-6 * np.abs(y).max()
    names = ["predict"]
    if here.error_model_ is not None:
        names += ["predict_interval", "predict_quantile"]
        std = there.predict(new, return_std=True)[1].compute()
        np.testing.assert_allclose(std, here.predict(NEW, return_std=True)[1], rtol=1e-6)
    for name in [*names, "distance_to_support"]:
        expected, lazy = getattr(here, name)(NEW), getattr(there, name)(new)
        assert isinstance(lazy, da.Array)
        assert (lazy.dtype, lazy.shape) == (expected.dtype, expected.shape)
        assert lazy.chunks[0] == (7, 0, 20, 23)
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-6, atol=atol)
    here.refit_coefficients(X[::2], y[::2])
    there.refit_coefficients(partition(X[::2], 50), partition(y[::2], 99, 100))
    np.testing.assert_allclose(there.predict(NEW), here.predict(NEW), rtol=0, atol=atol)


def test_a_small_fit_of_the_papers_algorithm_equals_the_fit_in_memory():
    model = LABRBFPaperRegressor(15, max_iter=50, random_state=0)
    here = clone(model).fit(X, Y)
    there = clone(model).fit(partition(X, 100, 0, 350), partition(Y, 450, 200))
    np.testing.assert_array_equal(there.support_, here.support_)
    lazy = there.predict(partition(NEW, 7, 0, 20))
    assert lazy.chunks[0] == (7, 0, 20, 23)
    np.testing.assert_allclose(lazy.compute(), here.predict(NEW), rtol=1e-6)


@pytest.mark.parametrize("y", [LABELS, (Y > 0).astype(int), Y > 1], ids=["text", "int", "bool"])
def test_small_classification_equals_the_fit_in_memory(y):
    model = classifier(dense=y is LABELS)  # once suffices
    here = clone(model).fit(X, y, WEIGHTS)
    there = clone(model).fit(partition(X, 1, 400), partition(y, 300, 0), partition(WEIGHTS, 9))
    np.testing.assert_array_equal(there.classes_, here.classes_)
    new = partition(NEW, 20)
    for name in ("decision_function", "predict_proba", "predict_log_proba", "predict"):
        expected, lazy = getattr(here, name)(NEW), getattr(there, name)(new)
        assert (lazy.dtype, lazy.chunks[0]) == (expected.dtype, (20, 30))
        if name == "predict":
            np.testing.assert_array_equal(lazy.compute(), expected)
        else:
            np.testing.assert_allclose(lazy.compute(), expected, rtol=0, atol=1e-6)
    unknown = partition(np.full(50, "zebra" if y is LABELS else 7), 20)
    with pytest.raises(ValueError, match=r"expected labels in .* got ('zebra'|7)"):
        there.refit_coefficients(new, unknown)


def test_single_precision_and_a_frame_with_names(tmp_path):
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b", "c"])
    here = quick(dense=False).fit(frame, Y)
    series = pd.Series(Y).convert_dtypes()  # an extension dtype with pandas missing values
    pieces = dd.from_pandas(frame, npartitions=4), dd.from_pandas(series, npartitions=3)
    there = quick(dense=False).fit(*pieces)
    assert there.feature_names_in_.tolist() == ["a", "b", "c"]
    lazy = there.predict(pieces[0])
    assert np.isnan(lazy.shape[0])  # the lengths of the partitions are unknown
    np.testing.assert_allclose(lazy.compute(), here.predict(frame), rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        there.predict(pieces[0].rename(columns={"a": "z"}))
    save(there, tmp_path / "model.pliant")
    loaded = load(tmp_path / "model.pliant")
    np.testing.assert_array_equal(loaded.predict(frame), there.predict(frame))
    texts = dd.from_pandas(pd.Series(LABELS), npartitions=2)
    np.testing.assert_array_equal(
        classifier(dense=False).fit(partition(X, 30), texts).predict(X),
        classifier(dense=False).fit(X, LABELS).predict(X),
    )


# With more rows than the sample: a slow twin in memory


def dense_coefficients(basis, points, y, weights):
    """Compute [c; v] of a dense member, of which all given points are centres."""
    u, A = basis.warp_(points), basis.mixing
    A = np.diag(basis.mapped_bandwidths()[0]) if A is None else A
    K = naive_dense.gram(u, u, A, basis.kernel_.profile)
    c = naive_dense.ridge(K, y, basis.alpha_, weights)
    return np.vstack([c, 0.1 / u.shape[1] * u.T @ c])


def twin(model, rows, points, y, weights=None):
    """Fit to some rows in memory, then fit the coefficients of local members to all rows."""

    class Twin(type(model)):
        def _store_members(self, table, fits, dense, coefficients):
            bases = [fit.basis for fit in fits] + ([] if dense is None else dense.bases)
            targets = y if table.unit is None else np.arcsinh(y / table.unit)
            targets = targets.reshape(len(points), -1)
            w = np.ones(len(points)) if weights is None else weights
            low, high = points[w > 0].min(axis=0), points[w > 0].max(axis=0)
            self.target_low_ = y[w > 0].min(axis=0, keepdims=True)
            self.target_high_ = y[w > 0].max(axis=0, keepdims=True)
            mean = w @ targets / w.sum()
            margin, solved = (high - low) / 8, []
            for basis in bases:
                basis.limits_[:] = low - margin, high + margin
                if basis.objective_ == "dense":
                    right = targets[rows] - mean
                    solved.append((dense_coefficients(basis, points[rows], right, some), mean))
                    continue
                F = basis.features(points)
                A = F.T @ (w[:, None] * F) + basis.alpha_ * np.eye(F.shape[1])
                solved.append((np.linalg.solve(A, F.T @ (w[:, None] * (targets - mean))), mean))
            super()._store_members(table, fits, dense, solved)

    some = None if weights is None else weights[rows]
    return Twin(**model.get_params()).fit(points[rows], y[rows], some)


def test_masked_entries_of_a_partition_are_refused():
    masked = da.ma.masked_array(partition(Y, 300), partition(np.arange(900) == 331, 300))
    message = r"^expected y without masked entries, got 1 of 900 masked, the first at row 331:"
    with pytest.raises(ValueError, match=message):
        quick().fit(partition(X, 300), masked)


@pytest.mark.usefixtures("sampled")
def test_a_partition_that_cannot_be_read_again_leaves_the_old_model():
    model = quick().fit(X, Y)
    before, reads = model.predict(NEW), []

    def read(block):
        reads.append(block.size)
        if len(reads) > 3:  # the sample was drawn from three partitions
            raise OSError("the disk is gone")
        return block

    points = partition(X + 1.0, 300, 300).map_blocks(read, meta=np.zeros((0, 3)))
    with pytest.raises(OSError, match="the disk is gone"):
        model.refit_coefficients(points, partition(5.0 * Y + 100.0, 300, 300))
    assert len(reads) > 3
    np.testing.assert_array_equal(model.predict(NEW), before)


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize(
    ("y", "weights"), [(Y, None), (Y, 1 + WEIGHTS), (SKEWED, None)], ids=["plain", "weights", "log"]
)
def test_large_fit_equals_the_twin(y, weights, monkeypatch):
    monkeypatch.setattr("pliant.methods.lab_rbf.constants.MAX_ASINH_LOSS", np.inf)
    pieces = None if weights is None else partition(weights, 500)
    model = quick().fit(partition(X, 100, 350), partition(y, 600), pieces)
    rows = sample_of(quick(), partition(X, 9), partition(y, 600), pieces).numbers
    assert len(rows) == len(np.unique(rows)) == SIZE
    slow = twin(quick(), rows, X, y, weights)
    assert any(member.objective_ == "dense" for member in model.members_)
    assert (slow.target_unit_ is not None) == (model.target_unit_ is not None) == (y is SKEWED)
    np.testing.assert_array_equal(model.support_, rows[slow.support_])
    for name in ("predict", "predict_interval"):
        expected = getattr(slow, name)(NEW)
        np.testing.assert_allclose(getattr(model, name)(NEW), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("sampled")
def test_coefficients_do_not_depend_on_calibration_rows():
    outliers = np.where(np.arange(900) % 2, Y, 100.0)
    calibrated = quick(calibration=0.3).fit(partition(X, 450), partition(outliers, 600))
    assert len(calibrated.error_model_.errors) == 0.3 * SIZE
    sample = sample_of(quick(), partition(X, 450), partition(outliers, 600), None)
    order = np.random.RandomState(0).permutation(SIZE)
    kept = np.setdiff1d(np.arange(900), sample.numbers[order[: int(0.3 * SIZE)]])
    for member in calibrated.members_:
        np.testing.assert_allclose(member.intercept_, outliers[kept].mean(), rtol=1e-12)
    again = quick().fit(X, Y).calibrate(partition(X, 450), partition(Y, 600))
    assert again.error_model_.exact
    assert len(again.error_model_.errors) == SIZE


@pytest.mark.usefixtures("sampled")
def test_sample_depends_only_on_rows_and_seed():
    rare = np.where(np.arange(900) >= 895, "rare", LABELS)

    def drawn(model, lengths, y):
        return sample_of(model, partition(X, *lengths), partition(y, 20), None)

    for model, y in ((quick(), Y), (classifier(), rare)):
        one, two = (drawn(model, lengths, y) for lengths in ((450,), (0, 1, 300, 200)))
        np.testing.assert_array_equal(one.numbers, two.numbers)
        np.testing.assert_array_equal(one.rows.X, X[one.numbers])
        np.testing.assert_array_equal(one.rows.y, y[one.numbers])
        other = drawn(model.set_params(random_state=1), (450,), y)
        assert not np.array_equal(other.numbers, one.numbers)
    share = {label: np.mean(one.rows.y == label) for label in np.unique(rare)}
    assert (one.rows.y == "rare").sum() == 5  # all rows of the rare class
    assert share["low"] == pytest.approx(np.mean(rare == "low"), abs=0.02)


@pytest.mark.usefixtures("sampled")
def test_rare_classes_have_their_share_in_the_sample():
    """All five rows of a class of 900 are drawn, and count as one."""
    rare = np.where(np.arange(900) >= 895, "rare", LABELS)
    for weights in (None, WEIGHTS):
        lazy = None if weights is None else partition(weights, 450)
        drawn = collection.draw_sample(
            partition(X, 450), partition(rare, 450), lazy, seed=0, encoder=lambda labels: None
        )  # fmt: skip
        before, after = drawn.sample.rows, drawn.with_shares().sample.rows
        used = rare if weights is None else rare[weights > 0]
        here = after.y == "rare"
        share = len(after.y) * np.mean(used == "rare")
        own = np.ones(len(after.y)) if weights is None else before.weights
        np.testing.assert_allclose(after.weights[~here], own[~here])
        np.testing.assert_allclose(after.weights[here], own[here] * share / here.sum())
    common = collection.draw_sample(
        partition(X, 450), partition(LABELS, 450), None, seed=0, encoder=lambda labels: None
    )
    assert common.with_shares().sample.rows.weights is None


# Lazy predictions


def test_predictions_are_lazy():
    model, calls = quick().fit(X, Y), []

    def made(block):
        calls.append(len(block))
        return block

    lazy = model.predict(partition(NEW, 20).map_blocks(made, dtype=float, meta=np.empty((0, 0))))
    assert calls == []
    lazy[:5].compute()
    assert calls == [20]
    assert model.score(partition(X, 450), partition(Y, 300)) == pytest.approx(model.score(X, Y))
    halves = da.from_array(NEW, chunks=(20, 2))  # splits the features of a row
    np.testing.assert_array_equal(model.predict(halves).compute(), model.predict(NEW))
    unknown = halves[halves[:, 0] > 0]
    expected = model.predict(NEW[NEW[:, 0] > 0])
    np.testing.assert_allclose(model.predict(unknown).compute(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="X has 2 features, but LABRBFRegressor is expecting 3"):
        model.predict(halves[:, :2])
    with pytest.raises(ValueError, match=r"partition 1 .* got nan in X at row 25"):
        model.predict(da.where(da.arange(50, chunks=20)[:, None] == 25, np.nan, halves)).compute()


# Invalid data


def at(array, row, value):
    changed = array.astype(np.result_type(array, type(value)))
    changed[row] = value
    return changed


PIECES = {"X": X, "y": Y}
MIXED = da.concatenate(
    [da.from_array(np.array(["a"] * 450, object), chunks=450), da.from_array(np.arange(450))]
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": partition(at(X, (500, 1), np.nan), 450)},
         "partition 1 (rows 450 to 899): expected finite numbers"),
        ({"X": partition(X.astype(str), 450)}, "expected X to hold numbers, got dtype <U"),
        ({"sample_weight": da.from_array(at(WEIGHTS, 5, -2.0))}, ">= 0, got -2"),
        ({"y": None}, "expected targets y for the Dask collection X, got None"),
        ({"X": da.ones(900)}, "shape (n_samples, n_features), n_features >= 1, got (900,)"),
        ({"X": partition(X[:1]), "y": Y[:1]}, "expected at least 2 rows in X, got 1"),
        ({"y": da.ones(900)}, "expected a target that varies, got y = 1.0 in all 900 rows"),
        ({"X": dd.from_pandas(pd.DataFrame({"a": Y, "town": LABELS}), npartitions=2)},
         "expected X to hold numbers, got dtype str"),
        ({"X": dask.delayed(X)}, "expected X to be a Dask array or data frame, got DelayedLeaf"),
    ],
)  # fmt: skip
def test_invalid_data_raise_a_clear_error(changes, message):
    model = quick()
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        model.fit(**{"X": partition(X, 450), "y": partition(Y, 300), **changes})
    assert not hasattr(model, "members_")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (da.zeros(900), "expected at least two classes, got one class: 0.0"),
        (MIXED, "labels of one type"),
        (partition(Y, 450), "expected class labels, got "),
        (partition(at(Y.round(), 7, np.nan), 450), "expected class labels, got nan in y at row 7"),
    ],
)
def test_invalid_labels(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        classifier().fit(partition(X, 450), y)
    one_class_each = np.sort(LABELS)  # partitions with a single class are valid
    model = classifier(dense=False)
    model.fit(partition(X, 300), partition(one_class_each, 200, 200))
    assert model.classes_.tolist() == ["high", "low", "middle"]


def test_labels_of_several_columns_are_refused():
    two = np.column_stack([LABELS == "high", LABELS == "low"]).astype(int)
    with pytest.raises(ValueError, match=r"expected labels y of shape \(900,\), got \(900, 2\)"):
        classifier().fit(partition(X, 450), two)


def test_missing_dask_is_named(monkeypatch):
    from pliant.core import dask as collections

    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(collections, "import_module", missing)
    with pytest.raises(ImportError, match=re.escape("pip install 'pliant[dask]'")):
        quick().fit(partition(X, 450), Y)


@pytest.mark.parametrize("model", [quick(), classifier()], ids=["regressor", "classifier"])
def test_equal_weights_are_no_weights(model, sampled):
    y = Y if isinstance(model, LABRBFRegressor) else LABELS
    data, targets = partition(X, 500), partition(y, 500)
    plain = clone(model).fit(data, targets)
    weights = partition(np.full(900, 2.5), 500)
    fitted = clone(model).fit(data, targets, sample_weight=weights)
    np.testing.assert_array_equal(fitted.predict(NEW), plain.predict(NEW))
    np.testing.assert_allclose(fitted.alpha_, 2.5 * plain.alpha_, rtol=1e-12)
    ones, halves = (np.where(np.arange(900) % 3, w, 0.0) for w in (1.0, 0.5))
    one, half = (
        clone(model).fit(data, targets, sample_weight=partition(w, 500)).predict(NEW)
        for w in (ones, halves)
    )
    np.testing.assert_array_equal(half, one)
