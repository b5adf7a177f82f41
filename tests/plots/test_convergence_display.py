"""The plot shows the relative gap at each check, and the tolerance."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import DANKClassifier, LogDetLearner, NonPSDWarning, TKLClassifier, TKLRegressor
from pliant.plots import ConvergenceDisplay


def test_it_draws_the_relative_gaps_of_the_fit(model):
    display = ConvergenceDisplay.from_estimator(model)
    steps, gaps = display.line_.get_data()
    np.testing.assert_array_equal(steps, model.step_history_)
    relative = model.gap_history_ / (1 + np.abs(model.objective_history_))
    np.testing.assert_allclose(gaps, np.maximum(relative, 2.3e-16))
    assert gaps[-1] <= model.tol
    assert np.all(np.diff(steps) > 0)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylabel() == "gap / (1 + |objective|)"
    assert display.tol_line_.get_ydata()[0] == model.tol


def test_history_and_axes_can_be_handed_in():
    _, ax = pyplot.subplots()
    display = ConvergenceDisplay([0, 10], [2.0, 0.0])
    assert display.plot(ax, color="black") is display
    assert display.ax_ is ax
    assert display.tol_line_ is None
    assert display.line_.get_color() == "black"
    assert 0 < display.line_.get_ydata()[1] < 1e-15  # a gap of zero is drawn, too


@pytest.mark.parametrize("learner", [TKLClassifier, TKLRegressor])
def test_a_learned_kernel_is_drawn_machine_by_machine(learner, clowns):
    model = make_pipeline(StandardScaler(), learner(C=10.0)).fit(*clowns)
    display = ConvergenceDisplay.from_estimator(model)
    machines, gaps = display.line_.get_data()
    np.testing.assert_array_equal(machines, np.arange(1, model[-1].n_svm_solves_ + 1))
    np.testing.assert_allclose(gaps, model[-1].gap_history_ / model[-1].objective_history_)
    assert gaps[-1] <= display.tol == model[-1].tol < gaps[0]
    assert display.ax_.get_xlabel() == "support vector machines solved"
    assert display.ax_.get_ylabel() == "gap / |objective|"


def test_without_a_certificate_there_is_nothing_to_draw():
    gram = np.array([[1.0, 2.0], [2.0, 1.0]])
    model = DANKClassifier(kernel="precomputed", extension="none")
    with pytest.warns(NonPSDWarning):
        model.fit(gram, [0, 1])
    with pytest.raises(ValueError, match="expected certified gaps, got nan"):
        ConvergenceDisplay.from_estimator(model)


def test_a_kernel_learner_counts_sweeps_over_its_pairs():
    model = LogDetLearner(random_state=0).fit(*load_iris(return_X_y=True))
    display = ConvergenceDisplay.from_estimator(model)
    relative = model.gap_history_ / (1 + np.abs(model.objective_history_))
    np.testing.assert_allclose(display.gaps, relative)
    np.testing.assert_array_equal(display.steps, np.arange(len(relative)))
    assert display.tol == model.tol
    assert display.ax_.get_xlabel() == "sweeps over the pairs"
    assert display.ax_.get_ylabel() == "gap / (1 + |objective|)"
