"""The spectral kernel: its own points bit for bit, new points by the Nystroem formula."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import ModelFileError
from pliant.kernels import SpectralKernel
from pliant.methods.side_information import neighbor_graph
from pliant.methods.side_information.neighbor_graph import NeighborGraph
from pliant.persistence import load_model, save_model
from tests.reference import naive_spectral as naive

X = np.random.default_rng(0).standard_normal((25, 3))
NEW = np.random.default_rng(1).standard_normal((8, 3))
K_NEAREST = 4


def kernel_on(points=X, r=10, drop_null=False, seed=0):
    graph = NeighborGraph(points, K_NEAREST)
    found = graph.smoothest(r, drop_null=drop_null)
    spectrum = np.random.default_rng(seed).random(len(found.values))
    return SpectralKernel(
        points, found.vectors, found.values, spectrum, K_NEAREST, graph.radii, graph.degrees
    )


def test_at_its_points_it_is_the_sum_of_the_eigenvectors():
    kernel = kernel_on()
    expected = (kernel.vectors * kernel.spectrum) @ kernel.vectors.T
    np.testing.assert_allclose(kernel(X), expected, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(expected), atol=1e-14)
    np.testing.assert_array_equal(kernel.eigenfunctions(X), kernel.vectors)


def test_a_point_is_recognised_bit_for_bit():
    kernel = kernel_on(np.where(np.abs(X) < 0.2, 0.0, X))
    points = kernel.points
    np.testing.assert_array_equal(kernel.eigenfunctions(points * 1.0), kernel.vectors)
    minus = np.where(points == 0.0, -0.0, points)
    np.testing.assert_array_equal(kernel.eigenfunctions(minus), kernel.vectors)
    moved = np.nextafter(points, np.inf)
    assert np.abs(kernel.eigenfunctions(moved) - kernel.vectors).max() > 1e-3


def test_new_points_have_the_values_of_the_formula():
    kernel = kernel_on(r=6)
    kept = 1.0 - kernel.eigenvalues >= 0.1
    assert kept.sum() >= 4
    for x, values in zip(NEW, kernel.eigenfunctions(NEW), strict=True):
        for v, eigenvalue, value in zip(
            kernel.vectors.T[kept], kernel.eigenvalues[kept], values[kept], strict=True
        ):
            twin = naive.value_at(x, X, K_NEAREST, v, eigenvalue)
            assert value == pytest.approx(twin, abs=1e-13)


def test_eigenvectors_that_cannot_be_extended_are_zero_at_new_points():
    kernel = kernel_on(r=25)
    lost = 1.0 - kernel.eigenvalues < 0.1
    assert lost.any()
    values = kernel.eigenfunctions(NEW)
    np.testing.assert_array_equal(values[:, lost], 0.0)
    assert (np.abs(values[:, ~lost]).max(axis=0) > 0).all()
    assert np.isfinite(values).all()


def test_the_formula_gives_the_entries_back_at_points_that_link_to_the_same():
    """The eigenvalue equation of L, row by row: what the extension is built on."""
    graph = NeighborGraph(X, K_NEAREST)
    found = graph.smoothest(5, drop_null=False)
    back = graph.similarity @ found.vectors / (1.0 - found.values)
    np.testing.assert_allclose(back, found.vectors, atol=1e-13)


def test_the_first_null_vector_has_one_sign_everywhere():
    """It is D^{1/2} 1: at a new point sqrt of its degree, but for the factor |D^{1/2} 1|."""
    kernel = kernel_on(r=1)
    assert kernel.eigenvalues[0] == 0.0
    values = kernel.eigenfunctions(NEW)[:, 0]
    squares = (values / kernel.vectors[0, 0]) ** 2 * kernel.degrees[0]
    np.testing.assert_allclose(squares, np.round(squares), atol=1e-12)
    assert (squares >= K_NEAREST - 1e-12).all()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_a_value_does_not_depend_on_the_batch(seed):
    kernel, rng = kernel_on(), np.random.default_rng(seed)
    points = np.concatenate([X, 2.0 * rng.standard_normal((6, 3))])
    values, some = kernel.eigenfunctions(points), rng.permutation(len(points))[:7]
    np.testing.assert_allclose(kernel.eigenfunctions(points[some]), values[some], atol=1e-14)


def test_many_points_are_taken_in_blocks(monkeypatch):
    whole = kernel_on()(NEW)
    monkeypatch.setattr(neighbor_graph, "BLOCK", 60)
    np.testing.assert_allclose(kernel_on()(NEW), whole, atol=1e-14)


def test_points_far_away_have_finite_values():
    far = np.array([[1e6, 0.0, 0.0], [1e150, -1e150, 0.0], [1e300, 1e300, 1e300]])
    assert np.isfinite(kernel_on()(far, X)).all()


def test_points_of_another_dimension_are_refused():
    for wrong in (kernel_on().eigenfunctions, kernel_on(), kernel_on().diag):
        with pytest.raises(ValueError, match="expected X with 3 features, got 2"):
            wrong(np.zeros((2, 2)))


def test_it_comes_back_from_a_file(tmp_path):
    save_model(kernel_on(), tmp_path / "kernel.pliant")
    loaded = load_model(tmp_path / "kernel.pliant").model
    np.testing.assert_array_equal(loaded(X, NEW), kernel_on()(X, NEW))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"vectors": np.ones((24, 10))}, "expected vectors for 25 points, got 24 rows"),
        ({"eigenvalues": np.ones(9)}, "expected eigenvalues of shape (10,), got (9,)"),
        ({"spectrum": -np.ones(10)}, "expected spectrum >= 0"),
        ({"radii": np.full(25, np.nan)}, "expected finite numbers in radii, got nan at 0"),
        ({"degrees": np.zeros(25)}, "expected degrees > 0"),
        ({"n_neighbors": 26}, "expected n_neighbors <= 25"),
        ({"n_neighbors": 0}, "expected n_neighbors >= 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused_in_a_file(changed, said, tmp_path):
    with pytest.raises(ModelFileError, match=re.escape(said)):
        save_model(kernel_on().set_params(**changed), tmp_path / "kernel.pliant")
