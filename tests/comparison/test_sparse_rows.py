"""A comparison on sparse rows: methods that take them run, and the others have the reason."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

import pliant
from pliant.tables.comparison.contenders import contenders_for
from pliant.tables.comparison.pictures import pictures_of
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.search import search_grid
from pliant.tables.registry import METHODS
from tests.comparison.comparison_cases import run_here

N, D = 48, 20
RNG = np.random.default_rng(0)
X = scipy.sparse.random_array((N, D), density=0.3, rng=RNG, format="csr")
SCORE = X.sum(axis=1)
LABELS = np.where(np.median(SCORE) < SCORE, "many", "few")

REDUCED = make_pipeline(TruncatedSVD(2, random_state=0), pliant.TKLClassifier(tol=0.1))
NAMES = ["dummy", "linear", "dank", "lab-rbf", ("reduced", REDUCED)]


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        run_here(patch)
        patch.setitem(METHODS, "dank", replace(METHODS["dank"], grid={"C": (1.0,)}))
        return pliant.compare(X, LABELS, methods=NAMES, folds=2, repeats=1, n_jobs=1, budget=None)


def test_methods_run_or_are_left_out_with_the_reason(result):
    said = {each.name: (each.status, each.reason) for each in result.methods}
    for name in ("dummy", "linear", "dank", "reduced"):
        assert said[name] == ("done", "")
    assert said["lab-rbf"] == (
        "skipped",
        "needs dense rows: use sklearn.decomposition.TruncatedSVD first",
    )


def test_the_best_method_is_recommended_without_a_blend(result):
    assert result.blend is None
    assert result.best in ("linear", "dank", "reduced")
    np.testing.assert_array_equal(
        result.best_estimator_.predict(X), result.best_estimator_.predict(X.toarray())
    )


def test_the_best_method_is_fitted_within_the_budget(monkeypatch):
    run_here(monkeypatch)
    names = ["dummy", "linear"]
    found = pliant.compare(X, LABELS, methods=names, folds=2, repeats=1, n_jobs=1, budget=600.0)
    assert set(found.source.fitted) == {found.best} == {"linear"}


def test_no_model_is_fitted_for_pictures(result, monkeypatch):
    pytest.importorskip("matplotlib")
    fits = []
    monkeypatch.setattr(type(result), "fit_on_first_fold", lambda *_: fits.append(1))
    assert pictures_of(result)["scores"]
    assert not fits


def test_rows_are_the_same_in_any_form():
    expected = Sample.of(X, LABELS)
    for form in (scipy.sparse.coo_matrix(X), scipy.sparse.csc_array(X)):
        found = Sample.of(form, LABELS)
        assert found.fingerprint() == expected.fingerprint()
    assert not expected.missing_shares.any()
    assert not expected.needs_encoder


def test_grids_of_gamma_count_the_features_of_the_same_distances():
    """Standardised dense features have the variance 1, so d var(X) is d."""
    method = METHODS["dank"]
    sample = Sample.of(X, LABELS)
    values = np.array(search_grid(method, sample)["machine__gamma"])
    np.testing.assert_allclose(values * X.toarray().var() * D, method.grid["gamma"])


def test_two_more_methods_are_the_default():
    dense, sparse = ({m.name for m in contenders_for("regression", N, s)} for s in (False, True))
    assert sparse - dense == {"dank", "sketched-ridge"}
    assert dense <= sparse


def test_lab_rbf_alone_is_refused():
    with pytest.raises(TypeError, match=r"^expected dense rows for LABRBFClassifier.*TruncatedSVD"):
        pliant.fit(X, LABELS)


def test_entries_must_be_numbers():
    broken = X.copy()
    broken.data[0] = np.nan
    with pytest.raises(ValueError, match="expected finite numbers, got nan in X at row 0"):
        pliant.compare(broken, LABELS, methods=["dummy"])
