"""Public names: modules on demand, links to the documentation, results that print as tables."""

import subprocess
import sys

import numpy as np
import pytest

import pliant
from pliant import LABRBFClassifier, LABRBFRegressor, MKLRegressor
from tests.architecture.test_imports import PUBLIC

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 8))
Y = np.sin(2 * X[:, 1]) + X[:, 4]


def test_dir_lists_public_names_only():
    assert {*pliant.__all__, *PUBLIC} == {*dir(pliant)}


def test_python_runs_the_package():
    command = [sys.executable, "-m", "pliant", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == f"pliant {pliant.__version__}\n"


@pytest.mark.parametrize("address", ["https://docs.example/pliant/", "https://example.org/pliant"])
def test_the_html_of_an_estimator_links_to_its_page(address, tmp_path, monkeypatch):
    (tmp_path / "pliant-1.dist-info").mkdir()
    text = f"Name: pliant\nProject-URL: Documentation, {address}\n"
    (tmp_path / "pliant-1.dist-info" / "METADATA").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    page = f"{address.rstrip('/')}/api/generated/pliant.LABRBFRegressor.html"
    placeholder = "example.org" in address
    assert LABRBFRegressor()._get_doc_link() == ("" if placeholder else page)
    assert (page in LABRBFRegressor()._repr_html_()) is not placeholder


def test_an_estimator_of_a_package_that_is_not_installed_has_no_link(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    assert LABRBFRegressor()._get_doc_link() == ""


def test_an_explanation_prints_its_parts_and_its_largest_effects():
    model = LABRBFRegressor(8, n_members=1, max_iter=10, random_state=0).fit(X, Y)
    why = model.explain(X[:3])
    frame = why.to_frame()
    np.testing.assert_array_equal(frame["prediction"], why.prediction)
    parts = frame[["constant", "linear_part", "kernel_part"]].sum(axis=1)
    np.testing.assert_allclose(parts, why.prediction, rtol=1e-12)
    names = [f"x{j} (effect)" for j in np.argsort(-np.abs(why.effects).mean(axis=0))]
    assert frame.columns[4:].tolist() == names
    np.testing.assert_array_equal(frame["x4 (effect)"], why.effects[:, 4])
    rows = repr(why).splitlines()
    assert [row.rpartition(")")[0] + ")" for row in rows[5:]] == names[:6]
    assert rows[1].split() == ["prediction", *(f"{value:.4g}" for value in why.prediction)]
    assert f"<th>{names[0]}</th>" in why._repr_html_()


def test_an_explanation_of_classes_has_a_row_for_each_output():
    y = np.digitize(Y, [-0.5, 0.5])
    why = LABRBFClassifier(8, n_members=1, max_iter=5, random_state=0).fit(X, y).explain(X[:4])
    frame = why.to_frame()
    assert frame.loc[(2, 1), "x4 (effect)"] == why.effects[2, 4, 1]
    np.testing.assert_array_equal(frame["constant"], np.tile(why.constant, 4))


def test_a_summary_prints_a_row_for_each_function(monkeypatch):
    summary = MKLRegressor(["gaussian", "linear"]).fit(X, Y).summary()
    (function,) = summary.functions
    frame = summary.to_frame()
    assert frame.loc[0, "n_support"] == function.n_support
    assert frame.loc[0, "objective"] == function.objective
    assert f"{function.objective:.4g}" in repr(summary).splitlines()[1].split()
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert repr(summary).startswith("<pliant.methods.summary.Summary object")
