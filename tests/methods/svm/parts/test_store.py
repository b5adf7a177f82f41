"""What is kept in a checkpoint comes back to the bit, part by part and state by state."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.methods.svm.parts import PartResult, Store, kmeans_partition, npz
from tests.methods.svm.parts.store_cases import MADE, RESULT, X, unchanged

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    beta=arrays(float, st.integers(0, 20), elements=finite),
    numbers=st.tuples(finite, finite, st.floats(0, 1e9)),
    n_iter=st.integers(0, 2**62),
    part=st.integers(0, 200_000),
)
@settings(max_examples=50, deadline=None)
def test_what_is_saved_comes_back_to_the_bit(tmp_path_factory, beta, numbers, n_iter, part):
    store = Store(tmp_path_factory.mktemp("store"), MADE)
    value, gap, seconds = numbers
    result = PartResult(beta, value, gap, n_iter, "MAX_ITER", seconds)
    store.save("adapted", part, result)
    again = store.load("adapted", part, len(beta))
    assert again.beta.tobytes() == beta.tobytes()
    assert again[1:] == result[1:]
    assert store.load("plain", part, len(beta)) is None
    assert store.load("adapted", part + 1, len(beta)) is None


def test_a_part_without_certificate_has_a_gap_of_nan(store):
    store.save("plain", 0, RESULT._replace(gap=float("nan")))
    assert np.isnan(store.load("plain", 0, 30).gap)


def test_numpy_reads_the_files(saved):
    with np.load(saved, allow_pickle=False) as archive:
        assert set(archive) == {*PartResult._fields, "seal"}
        assert archive["beta"].tobytes() == RESULT.beta.tobytes()
        assert archive["beta"].dtype == float
        assert [archive[name].item() for name in PartResult._fields[1:]] == list(RESULT[1:])


def test_a_later_result_takes_the_place_of_the_first(store):
    store.save("plain", 0, RESULT._replace(n_iter=1))
    store.save("plain", 0, RESULT)
    assert unchanged(store.load("plain", 0, 30))
    assert sorted(os.listdir(store.folder)) == ["manifest.json", "plain-00001.npz"]


def test_states_have_names_and_any_shapes(store):
    store.save_state("refined-plain", beta=X[:, 0], gram=X, gap=0.5)
    shapes = {"beta": (30,), "gram": (30, 3), "gap": ()}
    found = store.load_state("refined-plain", shapes)
    assert found["beta"].tobytes() == X[:, 0].tobytes()
    assert found["gram"].tobytes() == X.tobytes()
    assert found["gap"] == 0.5
    found["beta"][0] = 1.0  # what comes back can be written to
    assert store.load_state("other", shapes) is None
    with pytest.warns(UserWarning, match="refined"):
        assert store.load_state("refined-plain", {**shapes, "gram": (3, 30)}) is None


def test_a_state_may_have_an_array_of_any_length(store):
    labels, centres = np.array([2, 0, 1]), X[:5]
    store.save_state("partition", labels=labels, centres=centres)
    for shape in [(None, 3), (5, None), (5, 3)]:
        found = store.load_state("partition", {"labels": (3,), "centres": shape})
        assert found["labels"].tolist() == [2, 0, 1]
        assert found["labels"].dtype == np.int64
        assert found["centres"].tobytes() == centres.tobytes()
    for shape in [(None, 2), (None,), (4, 3), (3, 5), (None, 0), (6, None)]:
        with pytest.warns(UserWarning, match="expected array centres"):
            assert store.load_state("partition", {"labels": (3,), "centres": shape}) is None


def test_a_partition_comes_back(store):
    parts = kmeans_partition(X, 4, random_state=0)
    assert store.load_partition(X) is None
    store.save_partition(parts)
    again = store.load_partition(X)
    assert again.labels.tobytes() == parts.labels.tobytes()
    assert again.labels.dtype == np.intp
    assert again.centres.tobytes() == parts.centres.tobytes()


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": np.arange(30) % 5},
        {"labels": np.arange(30) % 3},
        {"labels": np.arange(30) % 4 - 1},
        {"labels": np.arange(30) % 4 + 0.0},
        {"labels": np.arange(29) % 4},
        {"centres": X[:4, :2]},
        {"centres": X[:0]},
        {"centres": np.full((4, 3), np.nan)},
        {"centres": np.full((4, 3), 1e300)},
    ],
)
def test_a_partition_that_does_not_fit_counts_as_missing(store, changes):
    store.save_state("partition", **{"labels": np.arange(30) % 4, "centres": X[:4]} | changes)
    with pytest.warns(
        UserWarning, match="partition.npz' cannot be used and is written again"
    ) as caught:
        assert store.load_partition(X) is None
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_an_array_of_any_length_is_not_of_any_size(store, monkeypatch):
    store.save_state("partition", centres=X)
    monkeypatch.setattr(npz, "OPEN_BYTES", 10)
    monkeypatch.setattr(npz, "OVERHEAD", 100)
    with pytest.warns(UserWarning, match="expected at most 466 bytes"):
        assert store.load_state("partition", {"centres": (None, 3)}) is None


@pytest.mark.parametrize(
    "name",
    ["", "../x", "a/b", "a.b", "-", "1", "ä", "a b", "a\n", "a\0", "a-", "a--b", "plain-00001"],
)
def test_names_are_words_joined_by_hyphens(store, name):
    with pytest.raises(ValueError, match="expected a name of words joined by hyphens"):
        store.save_state(name, beta=X)
    with pytest.raises(ValueError, match="expected a name of words joined by hyphens"):
        store.save(name, 0, RESULT)


def test_a_status_too_long_is_refused(store):
    with pytest.raises(ValueError, match="at most 32 letters"):
        store.save("plain", 0, RESULT._replace(status="A" * 33))


def test_a_failed_write_leaves_the_old_file_and_no_draft(store, saved, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np.lib.format, "write_array", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.save("plain", 0, RESULT._replace(n_iter=99))
    assert sorted(os.listdir(store.folder)) == ["manifest.json", "plain-00001.npz"]
    assert unchanged(store.load("plain", 0, 30))
