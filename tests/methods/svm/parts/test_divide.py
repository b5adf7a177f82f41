"""Parts by k-means: every row in one part, none empty, none too large, the same for each seed."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import threadpool_limits

from pliant.core import linalg
from pliant.methods.svm.parts import AUTO_SIZE, Partition, divide, kmeans_partition

tables = st.tuples(st.integers(1, 40), st.integers(1, 3)).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(-3, 3).map(float))
)


def clusters(n, seed=0):
    """Rows in five clusters, of which a narrow one has most of the rows."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-20, 20, size=(5, 3))
    of = rng.choice(5, size=n, p=[0.8, 0.05, 0.05, 0.05, 0.05])
    return centres[of] + rng.normal(size=(n, 3)) * np.where(of == 0, 0.3, 2.0)[:, None]


def misplaced(partition, X):
    """How much farther each row's own centre is than the nearest, as a squared distance."""
    squares = cdist(X, partition.centres, "sqeuclidean")
    return squares[np.arange(len(X)), partition.labels] - squares.min(axis=1)


@given(X=tables, data=st.data())
@settings(max_examples=100, deadline=None)
def test_parts_are_as_many_and_as_small_as_asked_for(X, data):
    n_parts = data.draw(st.integers(1, len(X)))
    largest = data.draw(st.none() | st.integers(1, len(X)))
    parts = kmeans_partition(X, n_parts, largest=largest, random_state=0)
    assert parts.labels.shape == (len(X),)
    assert parts.centres.shape == (len(parts), X.shape[1])
    assert np.isfinite(parts.centres).all()
    assert parts.sizes.min() >= 1
    assert parts.sizes.max() <= (largest or len(X))
    assert len(parts) == n_parts or (largest is not None and len(parts) > n_parts)
    assert (misplaced(parts, X) <= 1e-9).all()  # cut rows too: their centres are equal


@given(X=tables, data=st.data())
@settings(max_examples=100, deadline=None)
def test_members_tell_the_labels_part_by_part(X, data):
    parts = kmeans_partition(X, data.draw(st.integers(1, len(X))), random_state=0)
    groups = [parts.members(part) for part in range(len(parts))]
    assert [len(group) for group in groups] == parts.sizes.tolist()
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(X)))
    for part, group in enumerate(groups):
        assert (np.diff(group) > 0).all()
        assert (parts.labels[group] == part).all()


@given(X=tables, data=st.data())
@settings(max_examples=100, deadline=None)
def test_place_gives_the_nearest_centre_and_the_first_of_equal_ones(X, data):
    number = data.draw(st.integers(1, 6))
    elements = st.integers(-3, 3).map(float)
    centres = data.draw(arrays(float, (number, X.shape[1]), elements=elements))
    placed = Partition(np.arange(number), centres).place(X)
    squares = cdist(X, centres, "sqeuclidean")
    assert (squares[np.arange(len(X)), placed] <= squares.min(axis=1) + 1e-9).all()
    for label in placed:
        assert not (centres[:label] == centres[label]).all(axis=1).any()


def test_the_first_of_many_equal_centres_gets_all_rows():
    rng = np.random.default_rng(0)
    centres = np.tile(rng.normal(size=(3, 7)), (25, 1))
    placed = Partition(np.arange(75), centres).place(rng.normal(size=(1000, 7)))
    assert set(placed) == {0, 1, 2}


@pytest.mark.parametrize("labels", [[0, 1, 1], [0, 1, 3], [-1, 0, 1], [0, 1, 2.5], []])
def test_labels_that_do_not_fit_the_centres_are_refused(labels):
    with pytest.raises(ValueError, match="expected labels from 0 to 2, each at least once"):
        Partition(np.array(labels), np.zeros((3, 1)))


def test_the_label_of_each_row_is_its_place():
    X = clusters(30_000)
    parts = kmeans_partition(X, 12, largest=5000, random_state=0)
    np.testing.assert_array_equal(parts.place(X), parts.labels)


@pytest.mark.parametrize("entries", [50, 1000])
def test_blocks_change_nothing(monkeypatch, entries):
    X = clusters(600)
    whole = kmeans_partition(X, 7, random_state=3)
    monkeypatch.setattr(linalg, "BLOCK_ENTRIES", entries)
    blocks = kmeans_partition(X, 7, random_state=3)
    np.testing.assert_array_equal(blocks.labels, whole.labels)
    np.testing.assert_array_equal(blocks.place(X), whole.labels)


def test_the_same_seed_gives_the_same_parts_whatever_the_number_of_threads():
    X = clusters(50_000)
    found = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            found.append(kmeans_partition(X, 20, largest=6000, random_state=5))
    for parts in found[1:]:
        assert parts.labels.tobytes() == found[0].labels.tobytes()
        assert parts.centres.tobytes() == found[0].centres.tobytes()
    other = kmeans_partition(X, 20, largest=6000, random_state=6)
    assert other.labels.tobytes() != found[0].labels.tobytes()


def test_steps_are_those_of_scikit_learn():
    X = clusters(3000) / 32
    mine = divide.kmeans(X, 8, np.random.RandomState(4))
    origin = X.mean(axis=0)
    scale = np.abs(X - origin).max()
    start = kmeans_plusplus((X - origin) / scale, 8, random_state=np.random.RandomState(4))[0]
    start = start * scale + origin
    model = KMeans(8, init=start, n_init=1, max_iter=divide.STEPS, tol=0, algorithm="lloyd")
    np.testing.assert_allclose(mine, model.fit(X).cluster_centers_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 2.0**30])
@pytest.mark.parametrize("unit", [2.0**-600, 1.0, 2.0**600])
def test_neither_the_origin_nor_the_units_matter(offset, unit):
    X = np.round(clusters(2000) * 2**12) / 2**12
    plain = kmeans_partition(X, 6, random_state=1)
    moved = kmeans_partition((X + offset) * unit, 6, random_state=1)
    np.testing.assert_array_equal(moved.labels, plain.labels)


@pytest.mark.parametrize("spread", [1.0, 1.5, 2.0])
def test_parts_are_evened_out(spread):
    X = clusters(8000)
    plain = kmeans_partition(X, 10, spread=np.inf, random_state=0).sizes
    even = kmeans_partition(X, 10, spread=spread, random_state=0).sizes
    assert len(even) == len(plain) == 10
    assert plain.max() > 2 * plain.mean()  # or this would test nothing
    assert even.max() < plain.max()
    assert spread == 1.0 or even.max() <= spread * even.mean()


def test_a_spread_that_is_not_exceeded_changes_nothing():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    plain = kmeans_partition(X, 4, spread=np.inf, random_state=0)
    even = kmeans_partition(X, 4, spread=2.0, random_state=0)
    assert even.labels.tobytes() == plain.labels.tobytes()


def test_a_sample_decides_and_all_rows_are_placed(monkeypatch):
    monkeypatch.setattr(divide, "SAMPLE", 100)
    monkeypatch.setattr(divide, "SAMPLE_PER_PART", 20)
    X = clusters(5000)
    parts = kmeans_partition(X, 8, largest=900, random_state=0)
    assert parts.sizes.max() <= 900
    np.testing.assert_array_equal(parts.place(X), parts.labels)


def test_auto_makes_a_part_for_each_so_many_rows():
    X = np.random.default_rng(0).normal(size=(2 * AUTO_SIZE + 1, 2))
    assert len(kmeans_partition(X, random_state=0)) == 3
    assert len(kmeans_partition(X[:-1], "auto", random_state=0)) == 2
    assert len(kmeans_partition(X[:1], random_state=0)) == 1


@pytest.mark.parametrize("n_parts", [1, 3, 10])
def test_equal_rows_are_cut_in_their_order(n_parts):
    parts = kmeans_partition(np.ones((10, 2)), n_parts, random_state=0)
    assert len(parts) == n_parts
    assert (parts.centres == 1.0).all()
    assert (parts.place(np.ones((3, 2))) == 0).all()
    for part in range(n_parts):
        assert (np.diff(parts.members(part)) == 1).all()


def test_many_equal_rows_among_others_are_the_only_ones_that_are_cut():
    rng = np.random.default_rng(0)
    X = np.vstack([np.zeros((700, 2)), rng.normal(size=(300, 2))])
    parts = kmeans_partition(X, 2, largest=100, random_state=0)
    assert parts.sizes.max() <= 100
    moved = parts.place(X) != parts.labels
    assert not moved[700:].any() or (parts.centres[parts.labels[700:]][moved[700:]] == 0).all()
    assert (misplaced(parts, X) <= 1e-9).all()


def test_a_rare_row_that_no_sample_shows_does_no_harm(monkeypatch):
    monkeypatch.setattr(divide, "SAMPLE", 4)
    monkeypatch.setattr(divide, "SAMPLE_PER_PART", 2)
    X = np.zeros((1000, 1))
    X[777] = 1.0
    parts = kmeans_partition(X, 3, largest=400, random_state=0)
    assert len(parts) >= 3
    assert parts.sizes.max() <= 400


def test_memory_does_not_grow_with_rows_times_parts():
    X = np.random.default_rng(0).normal(size=(100_000, 4))
    tracemalloc.start()
    parts = kmeans_partition(X, 200, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(parts) == 200
    assert peak < 80e6 < len(X) * len(parts) * 8  # all distances at once would take 160 MB


def test_the_table_is_left_alone():
    X = clusters(500)
    before = X.copy()
    X.setflags(write=False)
    parts = kmeans_partition(X, 5, largest=90, random_state=0)
    parts.place(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_parts": 0}, "n_parts >= 1, an integer, got 0"),
        ({"n_parts": 11}, "n_parts <= 10, the number of rows, got 11"),
        ({"n_parts": 2.0}, "n_parts >= 1, an integer, got 2.0"),
        ({"n_parts": True}, "n_parts >= 1, an integer, got True"),
        ({"n_parts": None}, "n_parts >= 1, an integer, got None"),
        ({"n_parts": "many"}, "n_parts an integer or 'auto', got 'many'"),
        ({"largest": 0}, "largest >= 1, an integer, got 0"),
        ({"spread": 0.5}, "spread >= 1, a number, got 0.5"),
        ({"spread": np.nan}, "spread >= 1, a number, got nan"),
        ({"X": np.empty((0, 2))}, "at least 1 row to divide, got 0"),
        ({"X": [1.0, 2.0]}, "shape"),
        ({"X": [[np.inf]]}, "got inf in X at row 0"),
    ],
)
def test_what_cannot_be_used_is_refused(given, message):
    X = given.pop("X", np.zeros((10, 2)))
    with pytest.raises(ValueError, match=message):
        kmeans_partition(X, **{"n_parts": 2, "random_state": 0} | given)


def test_sparse_tables_and_other_features_are_refused():
    with pytest.raises(TypeError, match="dense"):
        kmeans_partition(scipy.sparse.eye(4).tocsr(), 2)
    parts = kmeans_partition(np.eye(4), 2, random_state=0)
    with pytest.raises(ValueError, match="with 4 features, got 3"):
        parts.place(np.eye(3))
