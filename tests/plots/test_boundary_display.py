"""The lines stand where the decision function says, and the points where they are."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pliant import DANKClassifier, DANKRegressor
from pliant.plots import BoundaryDisplay


def vertices(lines):
    return np.vstack([path.vertices for path in lines.get_paths()])


def test_the_lines_are_where_the_decision_is_0_and_1(clowns):
    model = DANKClassifier(C=10.0, extension="none").fit(*clowns)  # smooth between grid points
    display = BoundaryDisplay.from_estimator(model, *clowns, grid_resolution=200)
    on_line = model.decision_function(vertices(display.boundary_))
    np.testing.assert_allclose(on_line, 0.0, atol=0.01)
    on_margins = model.decision_function(vertices(display.margins_))
    np.testing.assert_allclose(np.abs(on_margins), 1.0, atol=0.01)


def test_the_grid_holds_the_decision_of_each_place(model, clowns):
    display = BoundaryDisplay.from_estimator(model, *clowns, grid_resolution=9)
    place = [[display.horizontal[2], display.vertical[7]]]
    assert display.decisions["DANKClassifier"][7, 2] == pytest.approx(
        model.decision_function(place)[0], rel=1e-12
    )


def test_two_features_are_their_own_plane_and_points_are_told_apart(model, clowns):
    X, y = clowns
    display = BoundaryDisplay.from_estimator(model, X, y)
    for scatter, label in zip(display.points_, (-1, 1), strict=True):
        np.testing.assert_array_equal(scatter.get_offsets(), X[y == label])
    colors = {tuple(scatter.get_facecolor()[0]) for scatter in display.points_}
    shapes = {len(scatter.get_paths()[0].vertices) for scatter in display.points_}
    assert len(colors) == len(shapes) == 2
    assert display.ax_.get_xlabel() == "feature 0"


def test_the_model_before_is_a_dashed_line_of_its_own(model, clowns):
    X, y = clowns
    svm = SVC(C=10.0).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, before=svm, grid_resolution=200)
    on_line = svm.decision_function(vertices(display.before_))
    np.testing.assert_allclose(on_line, 0.0, atol=0.01)
    assert display.before_.get_linestyle() != display.boundary_.get_linestyle()
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert {"DANKClassifier", "DANKClassifier, margins", "SVC (before)", "class 1.0"} <= {*legend}
    assert BoundaryDisplay.from_estimator(model, X, y).before_ is None


def test_more_features_are_seen_in_a_plane_through_the_data():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), DANKClassifier()).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=20)
    scaled = StandardScaler().fit_transform(X)
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=False)
    seen = np.vstack([np.asarray(scatter.get_offsets()) for scatter in display.points_])
    shadow = np.vstack([(scaled @ directions[:2].T)[y == label] for label in (0, 1)])
    np.testing.assert_allclose(np.abs(seen), np.abs(shadow), atol=1e-9)
    share = sizes[0] ** 2 / (sizes**2).sum()
    assert f"({share:.0%} of the variance)" in display.ax_.get_xlabel()
    corner = np.array([display.horizontal[0], display.vertical[0]])
    towards = np.sign((seen * shadow).sum(axis=0))  # a direction may point either way
    point = (corner * towards) @ directions[:2] * X.std(axis=0) + X.mean(axis=0)
    decision = display.decisions["DANKClassifier"][0, 0]
    assert decision == pytest.approx(model.decision_function([point])[0])


def test_data_frames_stay_data_frames(clowns):
    X, y = clowns
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = DANKClassifier().fit(frame, y)  # scikit-learn warns about arrays from here on
    display = BoundaryDisplay.from_estimator(model, frame, y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")


def test_a_plane_of_one_side_has_no_line(model):
    X, y = np.array([[9.0, 9.0], [9.1, 9.1]]), np.array([1.0, 1.0])
    _, ax = pyplot.subplots()
    display = BoundaryDisplay.from_estimator(model, X, y, ax=ax)
    assert display.ax_ is ax
    assert display.boundary_ is None
    assert "DANKClassifier" not in [text.get_text() for text in ax.get_legend().get_texts()]


def test_what_has_no_such_picture_is_refused(model, clowns):
    X, y = clowns
    with pytest.raises(NotFittedError):
        BoundaryDisplay.from_estimator(DANKClassifier(), X, y)
    with pytest.raises(ValueError, match="expected a classifier, got DANKRegressor"):
        BoundaryDisplay.from_estimator(DANKRegressor().fit(X, X[:, 0]), X, y)
    iris = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="two classes, got DANKClassifier with 3"):
        BoundaryDisplay.from_estimator(DANKClassifier().fit(*iris), *iris)
    with pytest.raises(ValueError, match="at least 2 rows and 2 features"):
        BoundaryDisplay.from_estimator(DANKClassifier().fit(X[:, :1], y), X[:, :1], y)
    with pytest.raises(ValueError, match=r"expected labels in \[-1.0, 1.0\], got .*0.*in y"):
        BoundaryDisplay.from_estimator(model, X, y + 1)
    with pytest.raises(ValueError, match=r"expected y of shape \(80,\)"):
        BoundaryDisplay.from_estimator(model, X, y[1:])
    with pytest.raises(ValueError, match="expected grid_resolution >= 2"):
        BoundaryDisplay.from_estimator(model, X, y, grid_resolution=1)


def test_a_model_with_probabilities_alone_has_a_boundary_but_no_margins(clowns):
    forest = RandomForestClassifier(20, random_state=0).fit(*clowns)
    display = BoundaryDisplay.from_estimator(forest, *clowns, grid_resolution=9)
    place = [[display.horizontal[2], display.vertical[7]]]
    decision = display.decisions["RandomForestClassifier"][7, 2]
    assert decision == pytest.approx(2 * forest.predict_proba(place)[0, 1] - 1)
    assert display.margins_ is None
    assert display.boundary_ is not None


def test_names_of_features_can_be_handed_in_and_are_drawn_as_they_are(model, clowns):
    names = ["price $ and $x_2^$", "height"]
    display = BoundaryDisplay.from_estimator(model, *clowns, feature_names=names)
    display.ax_.figure.canvas.draw()
    assert display.ax_.get_xlabel() == r"price \$ and \$x_2^\$"
    with pytest.raises(ValueError, match="expected 2 feature_names, got 1"):
        BoundaryDisplay.from_estimator(model, *clowns, feature_names=["one"])
