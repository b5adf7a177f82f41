"""The kernel learned in parts, against loops from its definition."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from pliant.kernels import (
    EXTENSIONS,
    TL1,
    Gaussian,
    HadamardKernel,
    Laplacian,
    Linear,
    PartitionedKernel,
)
from pliant.methods.hadamard.partitioned_kernel import BETWEEN

CENTRES = np.array([[-1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 1.2]])
POINTS = np.random.default_rng(0).uniform(-1.5, 1.5, size=(24, 3))
LABELS = ((POINTS[:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
BETA = np.random.default_rng(1).normal(scale=2.0, size=24) * (np.arange(24) % 4 > 0)
BASE = Gaussian(0.5)
ETA = 2.0

every_rule = pytest.mark.parametrize("rule", EXTENSIONS)
both_between = pytest.mark.parametrize("between", BETWEEN)


def kernel(rule="smooth", between="one", *, base=BASE, eta=ETA, **changed):
    given_to = {"points": POINTS, "beta": BETA, "labels": LABELS, "centres": CENTRES} | changed
    return PartitionedKernel(
        base, **given_to, eta=eta, extension=rule, n_neighbors=3, between=between
    )


def new_points(n=15, seed=2):
    return np.random.default_rng(seed).uniform(-2, 2, size=(n, 3))


def by_loops(X, Y, rule, between, base=BASE):
    """k(x, y) F(x, y), pair by pair."""
    members = [np.flatnonzero(np.equal(LABELS, p)) for p in range(len(CENTRES))]
    of_parts = [HadamardKernel(base, POINTS[m], BETA[m], ETA, rule, 3) for m in members]
    gram = np.empty((len(X), len(Y)))
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            p, q = (((z - CENTRES) ** 2).sum(axis=1).argmin() for z in (x, y))
            if p == q:
                gram[i, j] = of_parts[p](x[None], y[None])[0, 0]
            else:
                gram[i, j] = base(x[None], y[None])[0, 0] * (between == "one")
    return gram


@every_rule
@both_between
@pytest.mark.parametrize("base", [BASE, Laplacian(0.4) + Linear()], ids=repr)
def test_values_are_those_of_the_definition(rule, between, base):
    X, Y = new_points(), np.concatenate([new_points(9, seed=3), POINTS[::5]])
    learned = kernel(rule, between, base=base)
    np.testing.assert_allclose(
        learned(X, Y), by_loops(X, Y, rule, between, base), rtol=0, atol=1e-13
    )
    np.testing.assert_allclose(learned(Y), by_loops(Y, Y, rule, between, base), rtol=0, atol=1e-13)
    np.testing.assert_allclose(learned.diag(Y), learned(Y).diagonal(), rtol=0, atol=1e-13)


@every_rule
@both_between
def test_of_one_part_it_is_the_kernel_that_is_learned_whole(rule, between):
    one = kernel(rule, between, labels=np.zeros(24, dtype=int), centres=CENTRES[:1])
    whole = HadamardKernel(BASE, POINTS, BETA, ETA, rule, 3)
    X = np.concatenate([new_points(), POINTS[:4]])
    np.testing.assert_array_equal(one(X, POINTS), whole(X, POINTS))
    np.testing.assert_array_equal(one(X), whole(X))
    np.testing.assert_array_equal(one.diag(X), whole.diag(X))
    np.testing.assert_array_equal(one.adaptation().toarray(), whole.adaptation().toarray())
    assert one.adaptation().radius == whole.adaptation().radius


@pytest.mark.parametrize("rule", [rule for rule in EXTENSIONS if rule != "none"])
@both_between
def test_it_is_exact_at_the_training_points(rule, between):
    learned = kernel(rule, between)
    same = LABELS[:, None] == LABELS
    F = 1.0 + (BETA[:, None] * BASE(POINTS) * BETA) / (4 * ETA) * same
    np.testing.assert_allclose(learned.adaptation().toarray(), F, atol=1e-13)
    K = BASE(POINTS) * (same if between == "zero" else 1.0)
    np.testing.assert_allclose(learned(POINTS), F * K, atol=1e-13)
    np.testing.assert_allclose(learned(POINTS[::2], POINTS.copy()), (F * K)[::2], atol=1e-13)


def test_the_adaptive_matrix_knows_its_size_radius_and_rank():
    learned = kernel().adaptation()
    F = learned.toarray()
    assert learned.shape == (24, 24)
    np.testing.assert_allclose(learned.columns([3, 20]), F[:, [3, 20]])
    assert learned.radius == pytest.approx(np.linalg.norm(F - 1.0))
    values = np.linalg.eigvalsh(F)
    assert learned.rank == (values > 1e-12 * values[-1]).sum()


@both_between
@every_rule
@given(
    free=arrays(float, st.tuples(st.integers(0, 8), st.just(3)), elements=st.floats(-4, 4)),
    chosen=st.lists(st.integers(0, 23), max_size=8),
    twice=st.booleans(),
    eta=st.sampled_from([1e-3, 1.0, 1e4, np.inf]),
)
@settings(max_examples=40, deadline=None)
def test_any_gram_is_symmetric_and_psd(rule, between, free, chosen, twice, eta):
    X = np.concatenate([free, POINTS[chosen], CENTRES[:1], *([free] if twice else [])])
    gram = kernel(rule, between, eta=eta)(X)
    scale = max(1.0, np.trace(gram))
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(
        gram, kernel(rule, between, eta=eta)(X, X.copy()), rtol=0, atol=1e-13 * scale
    )
    assert np.linalg.eigvalsh(0.5 * (gram + gram.T))[0] >= -1e-12 * scale


@every_rule
@both_between
def test_a_value_depends_on_its_two_points_only(rule, between):
    X, Y = new_points(), new_points(8, seed=5)
    learned, gram = kernel(rule, between), kernel(rule, between)(X, Y)
    alone = [[learned(x[None], y[None])[0, 0] for y in Y] for x in X]
    np.testing.assert_allclose(gram, alone, atol=1e-13)
    order = np.random.default_rng(0).permutation(15)
    np.testing.assert_allclose(learned(X[order], Y), gram[order], atol=1e-13)


def test_between_parts_there_is_the_base_kernel_or_nothing():
    X, Y = CENTRES[:1] + 0.01, CENTRES[1:] + 0.02
    np.testing.assert_array_equal(kernel(between="one")(X, Y), BASE(X, Y))
    np.testing.assert_array_equal(kernel(between="zero")(X, Y), np.zeros((1, 2)))


def test_a_point_belongs_to_the_nearest_centre_wherever_the_origin_is():
    X = new_points(200)
    expected = ((X[:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
    for offset in (0.0, 1e6, -1e9):
        moved = kernel(points=POINTS + offset, centres=CENTRES + offset)
        np.testing.assert_array_equal(moved.place(X + offset), expected)
        np.testing.assert_array_equal(moved.place(POINTS + offset), LABELS)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_point_between_centres_has_one_place_alone_and_in_a_batch(d):
    """On a grid many points are as near to one mean of grid points as to another."""
    for seed in range(30):
        r = np.random.default_rng(seed)
        X = r.integers(0, 4, size=(100, d)).astype(float)
        centres = np.stack([X[r.choice(100, size=r.integers(1, 30))].mean(axis=0) for _ in "12345"])
        learned = kernel(points=X, centres=centres, beta=np.zeros(100), labels=np.zeros(100, int))
        together = learned.place(X)
        alone = [learned.place(x[None])[0] for x in X]
        np.testing.assert_array_equal(together, alone)
        np.testing.assert_array_equal(together[::-1], learned.place(X[::-1]))
        distances = ((X[:, None] - centres) ** 2).sum(axis=2)
        chosen = distances[np.arange(100), together]
        np.testing.assert_allclose(chosen, distances.min(axis=1), rtol=1e-12)


def test_a_part_without_points_has_the_base_kernel():
    lonely = np.concatenate([CENTRES, [[50.0, 0.0, 0.0]]])
    there = np.array([[49.0, 0.0, 0.0], [51.0, 0.0, 0.0]])
    for rule, between in [(rule, between) for rule in EXTENSIONS for between in BETWEEN]:
        learned = kernel(rule, between, centres=lonely)
        np.testing.assert_array_equal(learned(there), BASE(there))
        np.testing.assert_array_equal(learned.diag(there), np.ones(2))


def test_far_points_have_finite_values():
    far = np.array([[1e150, 0.0, 0.0], [-1e150, 1e150, 0.0], [1e8, 0.0, 0.0]])
    for rule, between in [(rule, between) for rule in EXTENSIONS for between in BETWEEN]:
        learned = kernel(rule, between)
        assert np.isfinite(learned(far)).all()
        assert np.isfinite(learned(far, POINTS)).all()


def test_a_parameter_counts_from_the_moment_it_is_set():
    X, learned = new_points(), kernel()
    before = learned(X)
    for name, value in [("eta", 1.0), ("beta", 2 * BETA), ("extension", "nearest")]:
        changed = clone(learned).set_params(**{name: value})
        assert np.abs(changed(X) - before).max() > 1e-3
        old = getattr(learned, name)
        np.testing.assert_array_equal(learned.set_params(**{name: value})(X), changed(X))
        np.testing.assert_array_equal(learned.set_params(**{name: old})(X), before)


def test_a_pickle_is_not_larger_after_use_and_gives_the_same():
    learned, X = kernel(), new_points()
    fresh = len(pickle.dumps(learned))
    values = learned(X)
    assert len(pickle.dumps(learned)) == fresh
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learned))(X), values)


def test_it_is_psd_where_its_base_is():
    assert kernel().psd
    assert not kernel(base=TL1()).psd
    assert kernel().symmetric


def test_an_infinite_eta_and_no_coefficients_leave_the_base_kernel():
    X = new_points()
    for learned in (kernel(eta=np.inf), kernel(beta=np.zeros(24))):
        np.testing.assert_allclose(learned(X), BASE(X), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"between": "two"}, r"expected between in \['one', 'zero'\], got 'two'"),
        ({"extension": "smoth"}, r"expected extension in .* got 'smoth'"),
        ({"eta": 0.0}, "expected eta >= 1e-300"),
        ({"n_neighbors": 0}, "expected n_neighbors >= 1"),
    ],
)
def test_bad_parameters_get_one_clear_error(changed, message):
    with pytest.raises(ValueError, match=message):
        kernel().set_params(**changed)(POINTS)


def test_points_with_other_features_are_refused():
    with pytest.raises(ValueError, match="expected X with 3 features, got 2"):
        kernel()(np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ({"labels": LABELS[:-1]}, r"expected 24 labels, got shape \(23,\)"),
        ({"labels": LABELS.astype(float)}, "expected 24 labels"),
        ({"labels": LABELS + 1}, "expected labels from 0 to 2, got 3"),
        ({"labels": LABELS - 1}, "expected labels from 0 to 2, got -1"),
        ({"centres": CENTRES[:, :2]}, "expected centres with 3 features"),
        ({"centres": np.full((3, 3), np.nan)}, "expected finite numbers"),
        ({"beta": BETA[:-1]}, "expected"),
        ({"between": "half"}, "expected between"),
        ({"eta": -1.0}, "expected eta"),
    ],
)
def test_attributes_from_a_file_that_do_not_belong_together_are_refused(forged, message):
    learned = kernel()
    vars(learned).update(forged)
    with pytest.raises(ValueError, match=message):
        learned._check_loaded()


def test_attributes_from_a_file_that_belong_together_are_taken():
    learned, X = kernel(), new_points()
    values = learned(X)
    learned._check_loaded()
    assert "parts" not in vars(learned)
    np.testing.assert_array_equal(learned(X), values)


def test_more_adaptation_between_parts_is_never_made():
    """F differs from 1 only within parts, whatever eta is."""
    X = new_points(60)
    place = kernel().place(X)
    changes = [
        np.abs(kernel(eta=eta)(X) - BASE(X)) * (place[:, None] != place) for eta in (1e-6, 1e6)
    ]
    assert max(change.max() for change in changes) == 0.0
    sizes = [np.abs(kernel(eta=eta)(X) - BASE(X)).sum() for eta in (1e-2, 1.0, 1e2)]
    assert all(less < more for more, less in pairwise(sizes))
