"""Order spectral kernels: what is learned, what it is worth, new points, errors."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from pliant import OrderSpectralLearner, SideInformation, kernel_alignment, scg_loss
from pliant.methods.side_information.osk_problem import ORDERS
from pliant.persistence import load_model, save_model
from tests.reference import naive_spectral as naive

LOSSES = ("alignment", "scg")
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_order = pytest.mark.parametrize("order", ORDERS)
seeds = st.integers(0, 2**32 - 1)

REFERENCE_X = np.random.default_rng(12345).normal(size=(12, 3))
REFERENCE_Y = np.array([0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1])


def data(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(rng.random(n) < 0.6, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5), -1)
    y[:3] = [0, 1, 2]
    return X, y


def moons(n=200, labels=3, seed=0):
    """Two moons, a few labels on each, and the classes of all points."""
    X, classes = make_moons(n, noise=0.05, random_state=seed)
    y = np.full(n, -1)
    for c in (0, 1):
        rows = np.flatnonzero(classes == c)[:labels]
        y[rows] = c
    return X, y, classes


def pairs_of(y, m=30, seed=0):
    """Some similar and some dissimilar pairs of labelled points."""
    known = SideInformation.from_labels(y)
    pairs, signs = known.sample_pairs(m, np.random.RandomState(seed))
    return {"similar": pairs[signs > 0], "dissimilar": pairs[signs < 0]}


@pytest.mark.parametrize(
    ("order", "value"), [("strict", 0.382100511318), ("improved", 0.543110420845)]
)
def test_reference_values(order, value):
    learner = OrderSpectralLearner(
        order=order, n_neighbors=3, n_components=12, drop_null=False
    ).fit(REFERENCE_X, REFERENCE_Y)
    assert learner.alignment_ == pytest.approx(value, abs=1e-9)
    assert learner.objective_ == learner.alignment_
    gram = learner.transform(REFERENCE_X)
    known = SideInformation.from_labels(REFERENCE_Y)
    assert kernel_alignment(gram, known) == pytest.approx(value, abs=1e-9)


@every_order
@every_loss
@pytest.mark.parametrize("drop_null", [False, True])
def test_the_whole_way_agrees_with_the_slow_twin(loss, order, drop_null):
    X, y = data(30)
    learner = OrderSpectralLearner(loss, order, 4, 8, drop_null, beta=2.0).fit(X, y)
    L = naive.laplacian(naive.adjacency(X, 4))
    values, vectors = np.linalg.eigh(L)
    V = vectors[:, int(drop_null) :][:, :8]
    np.testing.assert_allclose(learner.eigenvalues_, values[int(drop_null) :][:8], atol=1e-12)
    known, n_null = SideInformation.from_labels(y), int(not drop_null)
    T = known.target()
    if loss == "alignment":
        twin = naive.best_alignment(V, T, known.known, order, n_null)
        assert learner.objective_ == pytest.approx(twin, abs=1e-6)
    else:
        losses = [scg_loss(np.outer(v, v), known, beta=2.0) for v in V.T]
        twin = naive.least_loss(losses, order, n_null)
        assert learner.objective_ == pytest.approx(twin, abs=1e-9)
    K = 30 * (V * learner.spectrum_) @ V.T
    np.testing.assert_allclose(learner.transform(X), K, atol=1e-10)
    assert learner.alignment_ == pytest.approx(kernel_alignment(K, known), abs=1e-12)


@pytest.mark.parametrize("how", ["labels", "pairs"])
@every_loss
def test_what_is_fitted_belongs_together(loss, how):
    X, y = data(60)
    learner, said = OrderSpectralLearner(loss), {"y": y} if how == "labels" else pairs_of(y)
    gram = learner.fit_gram(X, **said)
    assert np.trace(gram) == pytest.approx(60.0, abs=1e-10)
    assert learner.spectrum_.sum() == pytest.approx(1.0, abs=1e-12)
    assert learner.n_kept_ == np.count_nonzero(learner.spectrum_)
    assert learner.n_connected_components_ == 1
    assert learner.eigenvalues_.shape == (59,)
    assert learner.eigenvectors_.shape == (60, 59)
    np.testing.assert_allclose(learner.kernel_(X), gram, rtol=0, atol=1e-10)
    np.testing.assert_allclose(learner.transform(X), gram, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(clone(learner).fit_transform(X, **said), gram)
    if how == "labels":
        information = SideInformation.from_labels(y)
        np.testing.assert_array_equal(learner.classes_, [0, 1, 2])
    else:
        information = SideInformation.from_pairs(60, **said)
        assert learner.classes_ is None
    assert learner.alignment_ == pytest.approx(kernel_alignment(gram, information), abs=1e-12)
    if loss == "scg":
        assert learner.objective_ == pytest.approx(scg_loss(gram / 60, information), abs=1e-10)


@every_order
@given(seed=seeds, loss=st.sampled_from(LOSSES), drop_null=st.booleans())
@settings(max_examples=25, deadline=None)
def test_spectra_obey_their_order(order, seed, loss, drop_null):
    X, y = data(20, seed=seed)
    learner = OrderSpectralLearner(loss, order, 3, 12, drop_null).fit(X, y)
    mu = learner.spectrum_
    n_null = 0 if drop_null else learner.n_connected_components_
    assert (naive.order_differences(len(mu), order, n_null) @ mu >= 0).all()
    assert mu.min() >= 0.0
    assert mu.sum() == pytest.approx(1.0, abs=1e-12)
    assert -1.0 <= learner.alignment_ <= 1.0
    assert np.linalg.eigvalsh(learner.transform(X))[0] >= -1e-10


@every_loss
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_the_order_of_the_rows_does_not_matter(loss, seed):
    X, y = data(25, seed=seed)
    order = np.random.default_rng(seed).permutation(25)
    one = OrderSpectralLearner(loss, n_neighbors=4, n_components=9).fit(X, y)
    two = clone(one).fit(X[order], y[order])
    assert two.objective_ == pytest.approx(one.objective_, abs=1e-10)
    np.testing.assert_allclose(two.spectrum_, one.spectrum_, atol=1e-9)
    np.testing.assert_allclose(two.transform(X), one.transform(X)[:, order], atol=1e-8)


def test_a_vector_on_points_of_no_label_gets_no_weight_by_chance():
    """One eigenvector lives on two unlabelled twins: its weight, free for the alignment, is 0."""
    X, y = data(25, seed=167)
    learner = OrderSpectralLearner(n_neighbors=4, n_components=9).fit(X, y)
    unseen = np.abs(learner.eigenvectors_[y >= 0]).max(axis=0) < 1e-12
    assert np.flatnonzero(unseen).tolist() == [8]
    assert learner.spectrum_[7] > 0.0
    assert learner.spectrum_[8] == 0.0


@every_loss
def test_the_improved_order_is_the_strict_one_without_null_vectors(loss):
    X, y = data(50)
    strict, improved = (OrderSpectralLearner(loss, order).fit(X, y) for order in ORDERS[::-2])
    np.testing.assert_array_equal(improved.spectrum_, strict.spectrum_)


def test_a_looser_order_is_never_worse():
    X, y = data(80)
    for loss, sign in (("alignment", 1.0), ("scg", -1.0)):
        values = [
            sign * OrderSpectralLearner(loss, order, drop_null=False).fit(X, y).objective_
            for order in ("strict", "improved", "none")
        ]
        assert values[0] <= values[1] + 1e-10
        assert values[1] <= values[2] + 1e-10


def test_with_the_null_vector_the_scg_loss_has_a_trivial_minimum():
    """As published: all weight on the constant; a machine then predicts the majority class."""
    X, y = data(150)
    published = OrderSpectralLearner("scg", drop_null=False).fit(X, y)
    assert published.n_kept_ == 1
    assert published.eigenvalues_[0] == 0.0
    gram, known = published.transform(X), y >= 0
    machine = SVC(kernel="precomputed").fit(gram[np.ix_(known, known)], y[known])
    assert len(set(machine.predict(gram[:, known]))) == 1
    dropped = OrderSpectralLearner("scg").fit(X, y)
    assert dropped.eigenvalues_[0] > 0.0
    assert dropped.objective_ > published.objective_


@every_loss
@pytest.mark.parametrize("n_components", [1, 2, 3, 5, 500])
@pytest.mark.parametrize("drop_null", [False, True])
def test_separate_components_are_null_vectors_of_their_own(loss, n_components, drop_null):
    X, y = data(48)
    X[16:32] += 100.0
    X[32:] -= 100.0
    learner = OrderSpectralLearner(loss, n_components=n_components, drop_null=drop_null).fit(X, y)
    assert learner.n_connected_components_ == 3
    available = 45 if drop_null else 48
    assert learner.spectrum_.shape == (min(n_components, available),)
    null = np.count_nonzero(learner.eigenvalues_ == 0.0)
    assert null == (0 if drop_null else min(3, n_components))
    for v in learner.eigenvectors_[:, :null].T:
        assert {np.count_nonzero(v[low : low + 16]) for low in (0, 16, 32)} == {0, 16}


@every_loss
def test_equal_points_are_one_point_of_the_graph(loss):
    X, y = data(30)
    again = np.concatenate([X, X[:10], X[:5], -0.0 * X[:1]])
    labels = np.concatenate([y, y[:15], [-1]])
    learner = OrderSpectralLearner(loss, n_components=8)
    gram = learner.fit_gram(again, labels)
    assert gram.shape == (46, 46)
    assert np.trace(gram) == pytest.approx(46.0, abs=1e-10)
    np.testing.assert_array_equal(gram[30:40, :30], gram[:10, :30])
    np.testing.assert_allclose(learner.transform(again), gram, atol=1e-10)
    np.testing.assert_allclose((learner.eigenvectors_**2).sum(axis=0), 1.0, atol=1e-13)
    assert len(learner.kernel_.points) == 31


def test_a_few_labels_on_two_moons_are_enough():
    X, y, classes = moons()
    for order in ORDERS:
        gram = OrderSpectralLearner(order=order, n_components=20, drop_null=False).fit_gram(X, y)
        known = y >= 0
        machine = SVC(kernel="precomputed", C=100.0).fit(gram[np.ix_(known, known)], y[known])
        assert machine.score(gram[:, known], classes) > 0.98


def test_new_points_are_classified_as_well_as_unlabelled_ones():
    X, classes = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:900]
    X, classes = X[chosen], classes[chosen]
    y = np.where(np.arange(600) % 3 == 0, classes[:600], -1)
    learner = OrderSpectralLearner().fit(X[:600], y)
    known = np.flatnonzero(y >= 0)
    gram = learner.transform(X)[:, known]
    machine = SVC(kernel="precomputed", C=10.0).fit(gram[known], y[known])
    unlabelled = np.flatnonzero(y < 0)
    here = machine.score(gram[unlabelled], classes[unlabelled])
    there = machine.score(gram[600:], classes[600:])
    assert here > 0.93
    assert there > here - 0.03


def test_it_works_in_a_pipeline_and_is_learned_again_in_each_fold():
    X, _, classes = moons(120)
    model = make_pipeline(OrderSpectralLearner(drop_null=False), SVC(kernel="precomputed"))
    assert cross_val_score(model, X, classes, cv=4).mean() > 0.97


def test_components_can_be_told_apart_by_null_vectors_only():
    """Each other eigenvector lives on one component: labels on one say little of another."""
    X, y, _ = moons()
    learner = OrderSpectralLearner(drop_null=False).fit(X, y)
    assert learner.n_connected_components_ == 2
    assert learner.alignment_ > OrderSpectralLearner().fit(X, y).alignment_


@every_loss
def test_new_points_do_not_depend_on_their_batch(loss):
    X, y = data(60)
    new = data(20, seed=1)[0]
    learner = OrderSpectralLearner(loss, n_components=12).fit(X, y)
    gram = learner.transform(new)
    for i in range(20):
        np.testing.assert_allclose(learner.transform(new[[i]])[0], gram[i], atol=1e-12)
    mixed = learner.transform(np.concatenate([X[:4], new]))
    np.testing.assert_allclose(mixed[4:], gram, atol=1e-12)


def test_many_points_take_lanczos_iterations_and_give_the_same(monkeypatch):
    from pliant.methods.side_information import neighbor_graph

    X, y = data(400)
    few = OrderSpectralLearner(n_components=10).fit(X, y)
    monkeypatch.setattr(neighbor_graph, "SMALL", 100)
    many = clone(few).fit(X, y)
    assert many.objective_ == pytest.approx(few.objective_, abs=1e-10)
    np.testing.assert_allclose(many.transform(X), few.transform(X), atol=1e-9)


def test_labels_may_be_text_and_the_mark_of_unknown_ones_any_value():
    X, y = data(40)
    names = np.array(["?", "a", "b", "c"])[y + 1]
    numbers = OrderSpectralLearner().fit(X, y)
    text = OrderSpectralLearner(unlabeled="?").fit(X, names)
    np.testing.assert_array_equal(text.transform(X), numbers.transform(X))
    np.testing.assert_array_equal(text.classes_, ["a", "b", "c"])


def test_refitting_on_pairs_forgets_the_classes():
    X, y = data(40)
    learner = OrderSpectralLearner().fit(X, y)
    assert learner.fit(X, **pairs_of(y)).classes_ is None


def test_names_and_containers():
    X, y = data(30)
    learner = OrderSpectralLearner().fit(X, y)
    names = learner.get_feature_names_out()
    assert names.shape == (30,)
    assert names[0] == "orderspectrallearner0"
    frame = learner.set_output(transform="pandas").transform(X[:4])
    assert list(frame.columns) == list(names)
    np.testing.assert_array_equal(frame.to_numpy(), learner.kernel_(X[:4], X))


@every_loss
def test_clones_pickles_and_files(loss, tmp_path):
    X, y = data(30)
    new = data(5, seed=2)[0]
    learner = OrderSpectralLearner(loss, "improved", 3, 9, False, 2.0).fit(X, y)
    gram = learner.transform(new)
    np.testing.assert_array_equal(clone(learner).fit(X, y).transform(new), gram)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).transform(new), gram)
    save_model(learner, tmp_path / "learner.pliant")
    loaded = load_model(tmp_path / "learner.pliant").model
    np.testing.assert_array_equal(loaded.transform(new), gram)
    assert loaded.get_params() == learner.get_params()


def test_the_data_are_not_changed_and_not_shared():
    X, y = data(30)
    before = X.copy()
    learner = OrderSpectralLearner().fit(X, y)
    gram = learner.transform(before)
    np.testing.assert_array_equal(X, before)
    X[:] = 0.0
    np.testing.assert_array_equal(learner.transform(before), gram)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"loss": "scgg"}, "expected loss in ['alignment', 'scg'], got 'scgg' (did you mean 'scg'"),
        ({"order": "weak"}, "expected order in ['improved', 'none', 'strict'], got 'weak'"),
        ({"order": None}, "expected order in ['improved', 'none', 'strict'], got None"),
        ({"n_neighbors": 0}, "expected n_neighbors >= 1, an integer, got 0"),
        ({"n_neighbors": 2.0}, "expected n_neighbors >= 1, an integer, got 2.0"),
        ({"n_components": 0}, "expected n_components >= 1, an integer, got 0"),
        ({"n_components": "all"}, "expected n_components >= 1, an integer, got 'all'"),
        ({"drop_null": "yes"}, "expected drop_null True or False, got 'yes'"),
        ({"beta": 0.0}, "expected beta > 0, a finite number, got 0.0"),
        ({"beta": 1000.0}, "expected beta <= 100"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        OrderSpectralLearner(**parameters).fit(*data())


@pytest.mark.parametrize("n_neighbors", [12, 13, 1000])
def test_too_few_points_for_the_graph_are_refused_with_the_numbers(n_neighbors):
    learner = OrderSpectralLearner(n_neighbors=n_neighbors)
    said = (
        f"expected more than n_neighbors = {n_neighbors} distinct points, as each is linked "
        "to that many others before n_components = 100 eigenvectors are taken, got 12"
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        learner.fit(REFERENCE_X, REFERENCE_Y)
    assert OrderSpectralLearner(n_neighbors=11).fit(REFERENCE_X, REFERENCE_Y).n_kept_ >= 1


def test_copies_of_few_points_are_too_few_points():
    X = np.tile(REFERENCE_X[:4], (6, 1))
    y = np.tile([0, 1, -1, -1], 6)
    with pytest.raises(ValueError, match=r"more than n_neighbors = 5 distinct points.* got 4"):
        OrderSpectralLearner().fit(X, y)
    assert OrderSpectralLearner(n_neighbors=2).fit(X, y).eigenvectors_.shape == (24, 3)


def test_side_information_that_says_nothing_is_refused():
    X, y = data()
    learner = OrderSpectralLearner()
    for said, given_ in [
        ("expected some labelled points", {"y": np.full(40, -1)}),
        ("expected labels of at least two classes", {"y": np.where(y >= 0, 0, -1)}),
        ("expected `unlabeled` to be given", {"y": np.where(y > 0, 1, -1)}),
        ("expected y of shape (40,)", {"y": y[:39]}),
        ("expected row indices from 0 to 39", {"similar": [(0, 40)]}),
        ("expected two points in a pair", {"similar": [(3, 3)]}),
        ("got (1, 2) as both", {"similar": [(1, 2)], "dissimilar": [(2, 1)]}),
        ("expected either y or pairs", {"y": y, "similar": [(1, 2)]}),
        ("requires y to be passed", {}),
    ]:
        with pytest.raises(ValueError, match=re.escape(said)):
            learner.fit(X, **given_)


def test_before_it_is_fitted_it_says_so():
    with pytest.raises(NotFittedError):
        OrderSpectralLearner().transform(REFERENCE_X)
