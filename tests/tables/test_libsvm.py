"""LIBSVM files are read as the format's own programs read them, as tables of numbers."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from pliant import load
from pliant.exceptions import TableError
from pliant.tables import TableFormat, TableSchema, detect_format, iter_table, read_table
from pliant.tables.cli import main
from pliant.tables.reading import libsvm

TEXT = """# made by hand
+1 1:0.5 3:-2e1 # the first row

-1 2:1
1
"""
ROWS = {"label": [1.0, -1.0, 1.0], "1": [0.5, 0, 0], "2": [0, 1.0, 0], "3": [-20.0, 0, 0]}


def put(tmp_path, content, name="t.svm"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", ["t.svm", "t.LIBSVM", "t.svm.gz", "t.libsvm.gz"])
def test_absent_features_are_zero_and_comments_are_skipped(tmp_path, name):
    content = TEXT.encode()
    path = put(tmp_path, gzip.compress(content) if name.endswith("gz") else content, name)
    frame = read_table(path)
    assert frame.to_dict("list") == ROWS
    assert list(frame) == list(ROWS)


def test_values_are_those_that_scikit_learn_wrote(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 7)) * (rng.random((40, 7)) < 0.4), rng.normal(size=40)
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"), zero_based=False)
    frame = read_table(tmp_path / "t.svm")
    read, labels = load_svmlight_file(str(tmp_path / "t.svm"), n_features=7)
    assert np.array_equal(frame["label"], labels)
    assert np.array_equal(frame.drop(columns="label"), read.toarray())


def test_indices_mean_what_is_written(tmp_path):
    from_zero = read_table(put(tmp_path, "1 0:3 2:4\n2 1:5\n"))
    assert list(from_zero) == ["label", "0", "1", "2"]
    from_one = read_table(put(tmp_path, "1 2:3\n"))
    assert from_one.to_dict("list") == {"label": [1.0], "1": [0.0], "2": [3.0]}


def test_chunks_are_those_of_the_whole_table(tmp_path):
    lines = [f"{k % 2} {1 + k % 5}:{k}\n" for k in range(23)]
    path = put(tmp_path, "".join(lines))
    whole = read_table(path)
    chunks = list(iter_table(path, 5))
    assert [len(each) for each in chunks] == [5, 5, 5, 5, 3]
    for chunk in chunks:
        assert chunk.equals(whole.loc[chunk.index])
    assert len(read_table(path, stop=7)) == 7


def test_files_of_a_folder_share_their_columns(tmp_path):
    put(tmp_path, "1 1:1\n", "a.svm")
    put(tmp_path, "2 4:1\n", "b.svm")
    frame = read_table(tmp_path)
    assert frame["4"].tolist() == [0.0, 1.0]
    put(tmp_path, "a,b\n1,2\n", "c.csv")
    with pytest.raises(TableError, match=r"files of one type, got '.*a\.svm' and '.*c\.csv'"):
        read_table(tmp_path)


def test_a_later_file_may_lack_columns_of_zeros(tmp_path):
    training = read_table(put(tmp_path, "1 1:1 2:5 3:2\n-1 1:2 2:4\n1 3:1\n"))
    schema = TableSchema.fit(training, "label")
    assert schema.feature_names == ("1", "2", "3")
    later = put(tmp_path, "0 1:7\n0 5:1\n", "later.svm")
    form = detect_format(later, None, schema.reading)
    features = [schema.features(frame) for frame in iter_table(later, 1, form)]
    assert np.vstack(features).tolist() == [[7.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_missing_values_are_nan_and_na_values(tmp_path):
    path = put(tmp_path, "1 1:nan 2:-999\n2 1:1\n")
    frame = read_table(path, form=TableFormat(na_values=("-999",)))
    assert frame["1"].isna().tolist() == [True, False]
    assert frame["2"].isna().tolist() == [True, False]


BAD = {
    "order": ("1 3:1 2:1\n", "ascending indices, got: .*sorted and unique"),
    "twice": ("1 3:1 3:1\n", "ascending indices, got: .*sorted and unique"),
    "negative": ("1 -1:1\n", "ascending indices, got: Invalid index -1"),
    "several labels": ("1,2 3:1\n", "one number as the label and ascending indices, got: .*1,2"),
    "no label": ("3:1\n", "one number as the label"),
    "a word": ("1 3:x\n", "got: could not convert"),
    "no value": ("1 3\n", "expected rows such as '1 3:0.5 7:2'"),
    "query": ("# ranks\n1 qid:3 1:2\n", "expected rows without qid:.*, got 'qid:3'"),
    "nothing": ("# only a comment\n", "has no rows"),
    "far index": (f"1 {10**30}:1\n", "expected rows such as"),
    "wide": ("1 20001:1\n", "at most 20000 columns .* got 20001 columns .*load_svmlight_file"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_one_clear_error(tmp_path, content, message):
    path = put(tmp_path, content)
    for read in (read_table, lambda path: list(iter_table(path, 1000))):
        with pytest.raises(TableError, match=message) as caught:
            read(path)
        assert str(caught.value).isprintable()


def test_a_large_table_is_refused_whole_but_read_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(libsvm, "MOST_CELLS", 100)
    path = put(tmp_path, "1 9:1\n" * 11)
    with pytest.raises(TableError, match="at most 20000 columns and 100 cells, zeros included"):
        read_table(path)
    with pytest.raises(TableError, match="got 10 columns and at least 11 rows"):
        read_table(path, stop=20)
    assert len(read_table(path, stop=10)) == 10
    assert sum(len(chunk) for chunk in iter_table(path, 4)) == 11


def test_the_command_line_takes_libsvm_files(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.7)
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    X[20:, 2] = 0.0  # the second file names no index 3
    names = ["train.svm", "test.libsvm"]
    for name, rows in zip(names, (slice(20), slice(20, None)), strict=True):
        dump_svmlight_file(X[rows], y[rows], str(tmp_path / name), zero_based=False)
    train, test, model = (str(tmp_path / name) for name in (*names, "model.pliant"))
    assert main(["fit", train, "--target", "label", "--method", "dank", "--out", model]) == 0
    assert "classification of 'label', 20 rows, 3 columns, 2 classes" in capsys.readouterr().out
    assert main(["predict", model, test]) == 0
    predicted = np.array(capsys.readouterr().out.split()[1:], dtype=int)
    assert predicted.tolist() == load(model).predict(read_table(test).assign(**{"3": 0.0})).tolist()
    assert np.mean(predicted == y[20:]) > 0.8
