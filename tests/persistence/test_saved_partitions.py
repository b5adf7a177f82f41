"""A machine that was learned in parts goes to a file and comes back; a forged one is refused."""

import io
import zipfile

import numpy as np
import pytest

from pliant import DANKClassifier, DANKRegressor, KNPLRegressor, ModelFileError
from pliant.datasets import make_clowns
from pliant.kernels import (
    EXTENSIONS,
    Gaussian,
    HadamardKernel,
    Laplacian,
    Linear,
    PartitionedKernel,
)
from pliant.persistence import load_model, save_model

r = np.random.default_rng(0)
POINTS, NEW = r.uniform(size=(12, 3)), r.uniform(size=(9, 3))
CENTRES = np.array([[0.2, 0.2, 0.5], [0.8, 0.4, 0.5], [0.4, 0.9, 0.5]])
LABELS = ((POINTS[:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
BETA = r.normal(size=12) * (np.arange(12) % 3 > 0)

X, Y = make_clowns(60, random_state=0)
Z = r.normal(size=(50, 2))
PARTED = {"partition": "kmeans", "n_parts": 4, "random_state": 0}


def parted(**changed):
    given = {
        "base": Gaussian(2.0), "points": POINTS, "beta": BETA, "labels": LABELS,
        "centres": CENTRES, "eta": 0.5, "n_neighbors": 2,
    }  # fmt: skip
    return PartitionedKernel(**{**given, **changed})


def returned(tmp_path, model):
    save_model(model, tmp_path / "model.pliant")
    return load_model(tmp_path / "model.pliant").model


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("changed", [{}, {"between": "zero"}, {"eta": np.inf}], ids=str)
def test_a_loaded_kernel_is_the_same_function(tmp_path, extension, changed):
    kernel = parted(extension=extension, **changed)
    expected = kernel(NEW, POINTS)  # makes the parts
    loaded = returned(tmp_path, kernel)
    assert type(loaded) is PartitionedKernel
    assert set(vars(loaded)) == set(kernel.get_params(deep=False))
    np.testing.assert_array_equal(loaded(NEW, POINTS), expected)
    np.testing.assert_array_equal(loaded.place(NEW), kernel.place(NEW))
    np.testing.assert_array_equal(loaded.diag(NEW), kernel.diag(NEW))


def test_its_adaptive_matrix_survives(tmp_path):
    matrix = parted(base=Laplacian(1.0) + Linear()).adaptation()
    radius = matrix.radius
    loaded = returned(tmp_path, matrix)
    np.testing.assert_array_equal(loaded.toarray(), matrix.toarray())
    assert loaded.radius == radius


@pytest.mark.parametrize("options", [{}, {"prediction": "whole"}, {"refine": True}], ids=str)
@pytest.mark.parametrize("learner", [DANKClassifier, DANKRegressor, KNPLRegressor])
def test_a_loaded_machine_predicts_the_same(tmp_path, learner, options):
    options = {} if learner is KNPLRegressor else options
    model = learner(**PARTED, **options).fit(X, Y)
    loaded = returned(tmp_path, model)
    values = "decision_function" if learner is DANKClassifier else "predict"
    np.testing.assert_array_equal(getattr(loaded, values)(Z), getattr(model, values)(Z))
    assert type(loaded.kernel_) is type(model.kernel_)
    for name in ("part_labels_", "part_centres_", "part_gaps_", "part_seconds_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert (loaded.objective_, loaded.dual_gap_) == (model.objective_, model.dual_gap_)


def test_more_than_two_classes(tmp_path):
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.3, 0.3])]
    model = DANKClassifier(**PARTED).fit(X, labels)
    loaded = returned(tmp_path, model)
    np.testing.assert_array_equal(loaded.decision_function(Z), model.decision_function(Z))


def test_a_file_grows_with_the_points_and_not_with_the_parts(tmp_path):
    X, y = make_clowns(1000, random_state=1)
    sizes = []
    for n_parts in (2, 20):
        model = DANKClassifier(**{**PARTED, "n_parts": n_parts}).fit(X, y)
        model.predict(Z)  # makes the parts
        save_model(model, tmp_path / "model.pliant")
        sizes.append((tmp_path / "model.pliant").stat().st_size)
    numbers = (X.shape[1] + 4) * len(X) * 8  # points, coefficients, labels of kernel and machine
    assert sizes[0] < 1.5 * numbers + 30_000
    assert sizes[1] < 1.1 * sizes[0]


FORGED = {
    "labels of another number": ("labels", LABELS[:-1], r"expected 12 labels"),
    "labels of another shape": ("labels", LABELS[:, None], r"expected 12 labels"),
    "fractions": ("labels", LABELS + 0.5, "labels"),
    "floats": ("labels", LABELS.astype(float), "labels"),
    "truths": ("labels", LABELS > 0, "labels"),
    "texts": ("labels", LABELS.astype(str), "labels"),
    "objects": ("labels", LABELS.astype(object), "labels|cannot save"),
    "a part that is not there": ("labels", LABELS + 1, r"expected labels from 0 to 2, got 3"),
    "a negative part": ("labels", LABELS - 1, r"expected labels from 0 to 2, got -1"),
    "a huge part": ("labels", LABELS.astype(np.uint64) + 2**63, "expected labels from 0 to 2"),
    "no labels": ("labels", None, "labels"),
    "centres of other points": ("centres", CENTRES[:, :2], "expected .* 3 features"),
    "a flat list of centres": ("centres", CENTRES[0], "centres"),
    "no centres": ("centres", CENTRES[:0], "labels|centres"),
    "infinite centres": ("centres", CENTRES * np.inf, "centres"),
    "text centres": ("centres", "centres", "centres"),
    "points of nan": ("points", POINTS * np.nan, "points"),
    "fewer points": ("points", POINTS[:-1], "expected 11 "),
    "fewer coefficients": ("beta", BETA[:-1], "expected 12 finite coefficients"),
    "coefficients of nan": ("beta", BETA * np.nan, "expected 12 finite coefficients"),
    "another between": ("between", "two", "between"),
    "a number between": ("between", 1, "between"),
    "eta of nothing": ("eta", 0.0, r"expected eta >= 1e-300, a number, got 0\.0"),
    "no neighbours": ("n_neighbors", 0, "n_neighbors"),
    "another rule": ("extension", "smoth", "extension"),
    "no kernel": ("base", "gaussian", "base|kernel|Kernel"),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_kernel_is_refused(tmp_path, forgery):
    name, value, said = FORGED[forgery]
    kernel = parted()
    setattr(kernel, name, value)
    with pytest.raises(ModelFileError, match=said):
        save_model(kernel, tmp_path / "model.pliant")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(parted().get_params(deep=False)))
def test_a_kernel_without_an_attribute_is_refused(tmp_path, name):
    kernel = parted()
    delattr(kernel, name)
    with pytest.raises(ModelFileError, match=name):
        save_model(kernel, tmp_path / "model.pliant")


def test_what_a_file_says_of_the_parts_is_not_believed(tmp_path):
    kernel = parted()
    expected = kernel(NEW, POINTS)

    class Forged(PartitionedKernel):
        def __getstate__(self):
            other = HadamardKernel(Gaussian(9.0), POINTS, BETA)
            return {**super().__getstate__(), "parts": [other] * 3}

    forged = Forged(**kernel.get_params(deep=False))
    Forged.__module__, Forged.__qualname__ = PartitionedKernel.__module__, "PartitionedKernel"
    Forged.__name__ = "PartitionedKernel"
    loaded = returned(tmp_path, forged)
    assert type(loaded) is PartitionedKernel
    np.testing.assert_array_equal(loaded(NEW, POINTS), expected)


@pytest.mark.parametrize("prediction", ["part", "whole"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("support_vectors_", lambda v: v[:-1]),
        ("support_", lambda v: v[:-1]),
        ("dual_coef_", lambda v: v[:-1]),
        ("dual_coef_", lambda v: v * np.nan),
        ("kernel_", lambda v: None),
    ],
)
def test_a_forged_machine_is_refused(tmp_path, prediction, name, change):
    model = DANKClassifier(**PARTED, prediction=prediction).fit(X, Y)
    setattr(model, name, change(getattr(model, name)))
    with pytest.raises(ModelFileError):
        save_model(model, tmp_path / "model.pliant")


def test_a_machine_with_the_kernel_of_another_is_refused(tmp_path):
    """Prediction by parts finds the part of each support point in the kernel."""
    model = DANKClassifier(**PARTED).fit(X, Y)
    other = DANKClassifier(**PARTED, C=100.0).fit(X, Y)
    assert len(model.support_) != len(other.support_)
    model.kernel_ = other.kernel_
    with pytest.raises(ModelFileError, match=r"expected .* support points"):
        save_model(model, tmp_path / "model.pliant")


ARRAYS = [
    np.empty(0),
    np.array(1.0),
    np.full((12, 3), np.nan),
    np.full(12, 10**9),
    np.full(12, -1),
    np.zeros((10, 10)),
    np.zeros((3, 3, 3)),
    np.zeros(12, dtype="U3"),
    np.zeros(12, dtype="c16"),
]


def with_array(data, place, values):
    """The same file with one of its arrays replaced; None if it has not so many."""
    target, buffer = io.BytesIO(), io.BytesIO()
    np.save(buffer, values)
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w") as new:
        names = sorted(name for name in old.namelist() if name.endswith(".npy"))
        for name in old.namelist():
            chosen = place < len(names) and name == names[place]
            new.writestr(name, buffer.getvalue() if chosen else old.read(name))
    return target.getvalue() if place < len(names) else None


def test_any_other_array_is_refused_or_gives_a_kernel(tmp_path):
    path = tmp_path / "model.pliant"
    save_model(parted(between="zero"), path)
    valid, refused, place = path.read_bytes(), 0, 0
    while with_array(valid, place, ARRAYS[0]) is not None:
        for values in ARRAYS:
            path.write_bytes(with_array(valid, place, values))
            try:
                kernel = load_model(path).model
            except ModelFileError:
                refused += 1
            else:
                assert np.isfinite(kernel(NEW, POINTS)).all()
        place += 1
    assert place == 4  # points, coefficients, labels, centres
    assert refused >= 30
