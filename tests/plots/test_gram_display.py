"""The matrices show the kernel values in the documented order on one colour scale."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import DANKClassifier, DANKRegressor, LearnedKernelClassifier, SCGLogDetLearner
from pliant.plots import GramDisplay, _common

GRAM = np.array(
    [[1.0, 0.2, 0.6, -0.1], [0.2, 1.0, 0.0, 0.4], [0.6, 0.0, 1.0, 0.1], [-0.1, 0.4, 0.1, 2.0]]
)
Y = np.array(["b", "a", "b", "a"])


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def drawn(display):
    return [np.asarray(image.get_array()) for image in display.images_]


def in_order(model, y):
    """Sort the training points by class and then by coefficient: slow reference."""
    sizes = dict(zip(model.support_, np.abs(model.dual_coef_), strict=True))
    return sorted(range(len(y)), key=lambda i: (y[i], sizes.get(i, 0.0)))


def test_both_kernels_are_drawn_by_class_and_coefficient(model, clowns):
    X, y = clowns
    display = GramDisplay.from_estimator(model, X, y)
    order = in_order(model, y)
    before, after = drawn(display)
    np.testing.assert_allclose(after, centred(model.kernel_(X[order])), atol=1e-12)
    np.testing.assert_allclose(before, centred(model.kernel_.base(X[order])), atol=1e-12)
    assert np.abs(after - before).max() > 0.01
    assert display.ax_.get_xlabel() == "all 80 points, ordered by class"
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["class -1", "class 1"]


def test_similarities_are_means_of_pairs_within_and_between_classes():
    display = GramDisplay(GRAM, Y, 2 * GRAM).plot()
    K = centred(GRAM)
    within, between = (K[0, 2] + K[1, 3]) / 2, K[[0, 0, 2, 2], [1, 3, 1, 3]].mean()
    np.testing.assert_allclose(
        display.similarities, [(2 * within, 2 * between), (within, between)], atol=1e-12
    )
    assert display.ax_.texts[1].get_text().count("mean within") == 1


def test_regression_is_ordered_by_target(clowns):
    X, _ = clowns
    target = X[:, 1]
    model = make_pipeline(StandardScaler(), DANKRegressor()).fit(X[:, :1], target)
    display = GramDisplay.from_estimator(model, X[:, :1], target)
    inner = model[:-1].transform(X[np.argsort(target), :1])
    expected = centred(model[-1].kernel_.base(inner))
    np.testing.assert_allclose(drawn(display)[0], expected, atol=1e-12)
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels[0] == f"{target.min():.3g}"
    assert labels[-1] == f"{target.max():.3g}"
    quarters = np.repeat(np.arange(4), 20)
    same = (quarters[:, None] == quarters) & ~np.eye(80, dtype=bool)
    assert display.similarities[0][0] == pytest.approx(drawn(display)[0][same].mean())
    assert GramDisplay(GRAM, [0.5, 1.0, 2.0, 3.5]).by == "target"
    assert GramDisplay(GRAM, [0, 1, 1, 2]).by == "class"


def test_many_points_are_thinned_evenly_before_the_kernel_is_asked(model, clowns, monkeypatch):
    monkeypatch.setattr(_common, "MAX_POINTS", 7)
    X, y = clowns
    few = GramDisplay.from_estimator(model, X, y)
    order = np.array(in_order(model, y))[np.linspace(0, 79, 7).astype(int)]
    np.testing.assert_allclose(drawn(few)[1], centred(model.kernel_(X[order])), atol=1e-12)
    assert few.ax_.get_xlabel().startswith("7 of 80 points")
    known = GramDisplay.from_estimator(model, X, y, n_points=1234)
    assert known.ax_.get_xlabel().startswith("7 of 1234 points")


def test_a_kernel_learned_from_labels_has_the_variance_of_its_base():
    X, y = load_iris(return_X_y=True)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=10.0)).fit(X, y)
    display = GramDisplay.from_estimator(model, X, load_iris().target_names[y])
    traces = [matrix.trace() for matrix in drawn(display)]
    assert traces[0] == pytest.approx(traces[1])
    base = model.learner_.kernel_.base
    ratio = display.before / base(X[np.lexsort((sizes_of(model), y))])
    np.testing.assert_allclose(ratio, ratio[0, 0])
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["setosa", "versicolor", "virginica"]


def sizes_of(model):
    sizes = np.zeros(len(model.support_vectors_))
    sizes[model.machine_.support_] = np.abs(model.machine_.dual_coef_).sum(axis=0)
    return sizes


def test_a_precomputed_kernel_a_frame_axes_and_style(clowns):
    X, y = clowns
    base = DANKClassifier().fit(X, y).kernel_.base(X)
    model = DANKClassifier(kernel="precomputed").fit(base, y)
    _, ax = pyplot.subplots()
    display = GramDisplay.from_estimator(model, base, y, ax=ax, cmap="magma")
    order = in_order(model, y)
    np.testing.assert_allclose(drawn(display)[0], centred(base[np.ix_(order, order)]), atol=1e-12)
    assert display.ax_ is ax
    assert display.images_[0].get_cmap().name == "magma"
    frame = pd.DataFrame(X, columns=["a", "b"])
    GramDisplay.from_estimator(DANKClassifier().fit(frame, y), frame, pd.Series(y))
    with pytest.raises(
        ValueError, match=r"training Gram matrix of shape \(80, 80\), got \(3, 80\)"
    ):
        GramDisplay.from_estimator(model, base[:3], y[:3])


def test_it_says_where_a_kernel_is_hardly_adapted():
    before = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.0]])
    y = [0, 1, 1]
    for change, hardly in ((9e-4, True), (2e-3, False)):
        display = GramDisplay(before + change, y, before).plot()
        assert display.hardly_adapted is hardly
        titles = [text.get_text() for text in display.ax_.texts]
        assert [title.split("\n")[0] for title in titles] == [
            "base kernel",
            "learned kernel" + ", hardly adapted" * hardly,
        ]
        assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["class 0", "class 1"]
        first, second = display.images_
        assert first.get_clim() == second.get_clim()  # one colour scale for both
    assert not GramDisplay(before, y).hardly_adapted
