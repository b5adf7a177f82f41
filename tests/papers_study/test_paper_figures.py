"""Each figure of the papers in a small setting: a picture, a caption, and numbers."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from papers.figures import __main__ as command_line
from papers.figures.boundaries import DankBoundaries, DankEntries, KnplBoundary
from papers.figures.catalogue import FIGURES
from papers.figures.convergence import DankConvergence, KnplConvergence
from papers.figures.dank_parts import DankParts
from papers.figures.lab_bandwidths import LabBandwidths
from papers.figures.lab_errors import LabStart, LabSupport
from papers.figures.lab_settings import FUNCTIONS
from papers.figures.regression import Rivals, StepFunction, Surface
from papers.figures.samples import Grid, Sample, choose, clowns, gamma_of, svm
from papers.figures.scg_embeddings import (
    ScgDigits,
    ScgGaussians,
    accuracy_among,
    accuracy_of_new,
    separation,
    two_main,
)
from papers.figures.scg_labels import ScgLabels
from papers.figures.tkl_rank import TklRank, random_factor
from papers.figures.tkl_solvers import TklConvergence, TklCost, fit_exponents
from papers.figures.tkl_terrain import TklTerrain, near_cliffs

GRID = Grid(sigmas=(2.0, 0.5), Cs=(1.0, 8.0), folds=3)
RIVALS = Rivals(grid=replace(GRID, eta_scales=(1.0, 0.1)))
SMALL = (
    DankBoundaries(n_per_class=15, n_test_per_class=20, sigmas=(1.0, None), grid=GRID,
                   resolution=12),
    DankEntries(n_per_class=15, n_test_per_class=20, grid=GRID),
    DankConvergence(iterations=20, tol=1e-6, grid=GRID),
    DankParts(sets=(("heart_statlog", 1.0),), count=30, few=(1, 2, 3), many=(10,),
              draws=2, parts=3, etas=(10.0, 1e8), tolerances=(1e-1, 1e-4)),
    StepFunction(n=20, n_test=50, rivals=RIVALS),
    Surface(n=25, resolution=6, rivals=RIVALS),
    KnplBoundary(n_per_class=15, n_test_per_class=20, draws=2, grid=GRID, resolution=12),
    KnplConvergence(iterations=20, rounds=4, tol=1e-6, grid=GRID),
    TklConvergence(panels=(("heart_statlog", 1.0), ("california_housing", 10.0)), Cs=(1.0,),
                   machines=12),
    TklCost(counts=(10, 20, 40), features=(2, 5), machines=2, fitted_from=20),
    TklTerrain(n=40, resolution=12, gammas=(8.0, 64.0), deltas=(0.3,), Cs=(1.0, 10.0), folds=2),
    TklRank(sets=("california_housing", "heart_statlog"), count=30, ranks=(1, 3), draws=3),
    LabBandwidths(n=60, n_support=12, max_iter=10, resolution=51),
    LabSupport(shares=(0.2, 0.5), n=30, n_test=30, repeats=2, max_iter=2),
    LabStart(sigmas=(0.1, 10.0), n_support=12, n_more=16, n_test=30, repeats=2, max_iter=2),
    ScgGaussians(n_per_class=20),
    ScgDigits(per_class=20),
    ScgLabels(shares=5, repeats=1, sweeps=5),
)  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with stand-ins for three sets: noisy classes or targets in a few features."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 20)
    X = rng.standard_normal((40, 3)) + 0.8 * y[:, None]
    rows = "".join(f"{a},{b},{c},{label}\n" for (a, b, c), label in zip(X, y, strict=True))
    content = gzip.compress(f"a,b,c,target\n{rows}".encode())
    (folder / "heart_statlog.csv.gz").write_bytes(content)
    target = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(40)
    rows = "".join(f"{a},{b},{c},{t}\n" for (a, b, c), t in zip(X, target, strict=True))
    content = gzip.compress(f"a,b,c,target\n{rows}".encode())
    (folder / "california_housing.csv.gz").write_bytes(content)
    digits = np.repeat(np.arange(10), 25)
    images = 50 * rng.standard_normal((250, 4)) + 255 * rng.random((10, 4))[digits]
    rows = "".join(f"{a},{b},{c},{d},{t}\n" for (a, b, c, d), t in zip(images, digits, strict=True))
    content = gzip.compress(f"a,b,c,d,target\n{rows}".encode())
    (folder / "usps_all.csv.gz").write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def written(data, tmp_path_factory):
    """The folder that one run of the command fills, and its numbers."""
    out = tmp_path_factory.mktemp("figures")
    assert command_line.main(["--data", str(data), "--out", str(out)], SMALL) == 0
    return out, json.loads((out / "numbers.json").read_text("utf-8"))["figures"]


def leaves(entry):
    if isinstance(entry, dict):
        return [leaf for each in entry.values() for leaf in leaves(each)]
    if isinstance(entry, list):
        return [leaf for each in entry for leaf in leaves(each)]
    return [entry]


def test_the_small_figures_are_those_of_the_catalogue():
    assert [type(each) for each in SMALL] == [type(each) for each in FIGURES]
    assert len({each.name for each in FIGURES}) == len(FIGURES)


@pytest.mark.parametrize("figure", SMALL, ids=lambda figure: figure.name)
def test_a_figure_is_a_small_picture_with_caption_and_finite_numbers(figure, written):
    out, numbers = written
    entry = numbers[figure.name]
    content = (out / entry["file"]).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) < 300_000
    assert entry["title"] == figure.title
    assert "paper" in entry["caption"]
    found = [leaf for leaf in leaves(entry["measured"]) if leaf is not None]
    assert len(found) >= 8
    assert all(math.isfinite(leaf) for leaf in found)
    assert entry["caption"] in (out / "captions.md").read_text("utf-8")
    assert f"![{figure.title}]({figure.name}.png)" in (out / "captions.md").read_text("utf-8")


def test_nothing_else_is_written(written):
    out, _ = written
    names = {f"{each.name}.png" for each in SMALL} | {"numbers.json", "captions.md"}
    assert {path.name for path in out.iterdir()} == names


def test_the_paper_s_methods_stay_below_the_certified_optimum(written):
    _, numbers = written
    measured = numbers["dank-figure-4"]["measured"]
    best = measured["optimum less h(0)"]
    for method in ("projected gradient", "Algorithm 1 (Nesterov)"):
        assert 0 < measured[method]["objective less h(0)"] < best + measured["certified gap"]
    assert measured["pliant"]["objective less h(0)"][0] == pytest.approx(0, abs=1e-9)
    assert measured["pliant"]["objective less h(0)"][-1] == pytest.approx(best)


def test_the_loss_between_parts_is_within_the_corrected_bound_and_the_gap(written):
    _, numbers = written
    measured = numbers["dank-figure-5"]["measured"]
    assert [*measured] == ["heart_statlog", "bounds", "Theorem 7"]
    of_the_set = measured["heart_statlog"]
    assert [*of_the_set["losses"]] == ["2", "3", "10"]
    assert 0 == of_the_set["Q"]["1"] < of_the_set["Q"]["10"] < of_the_set["Q(K)"]
    for each in (*of_the_set["losses"].values(), *measured["bounds"].values()):
        assert 0 < each["loss"] <= min(each["bound"], each["certified gap"])
    assert measured["bounds"]["1e+08"]["printed bound"] < measured["bounds"]["1e+08"]["loss"]
    assert [step["wrong"] for step in of_the_set["safe"]] == [0, 0]
    rule = measured["Theorem 7"]
    assert rule["screened, its part"] == rule["screened, all points"] == 0
    assert rule["largest threshold, its part"] < rule["least gradient"]


def test_the_alternation_swings_around_the_optimum(written):
    _, numbers = written
    measured = numbers["knpl-figure-3"]["measured"]
    for scale in ("eta_scale 1", "eta_scale 0.1"):
        found = measured[scale]
        assert max(found["after G"]) <= found["optimum"] + found["certified gap"]
        assert min(found["after alpha"]) >= found["optimum"] - 1e-6
    assert measured["ADMM"]["Diff"][-1] < measured["ADMM"]["Diff"][0]


def test_without_data_heart_is_left_out(tmp_path, capsys):
    figures = [each for each in SMALL if each.needs_data or each.name == "dank-figure-2"]
    assert command_line.main(["--out", str(tmp_path)], figures) == 0
    assert "dank-figure-4: left out, it needs --data" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "captions.md", "dank-figure-2.png", "numbers.json",
    ]  # fmt: skip


def test_a_named_figure_is_drawn_alone_and_the_others_stay(tmp_path):
    figures = [each for each in SMALL if each.name in ("dank-figure-2", "tkl-figure-3")]
    assert command_line.main(["--out", str(tmp_path)], figures) == 0
    before = json.loads((tmp_path / "numbers.json").read_text("utf-8"))["figures"]
    pictures = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.png")}
    again = [type(each)(**vars(each) | {"seed": 3}) for each in figures]
    assert command_line.main(["tkl-figure-3", "--out", str(tmp_path)], again) == 0
    after = json.loads((tmp_path / "numbers.json").read_text("utf-8"))["figures"]
    assert list(after) == list(before) == ["dank-figure-2", "tkl-figure-3"]
    assert after["dank-figure-2"] == before["dank-figure-2"]
    assert after["tkl-figure-3"]["setting"]["seed"] == 3
    changed = [path.name for path, time in pictures.items() if path.stat().st_mtime_ns != time]
    assert changed == ["tkl-figure-3.png"]
    captions = (tmp_path / "captions.md").read_text("utf-8")
    assert all(entry["caption"] in captions for entry in after.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere"], "an existing folder, got 'nowhere'"),
        (["--keep"], "--data with"),
        (["tkl-figure-9"], "expected names out of dank-figure-1, "),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command_line.main(arguments, SMALL)
    assert message in capsys.readouterr().err


def test_training_and_test_clowns_share_their_scaling():
    sample = clowns(30, 70, seed=0)
    everything = np.concatenate([sample.X, sample.X_test])
    assert everything.mean(axis=0) == pytest.approx([0, 0], abs=1e-12)
    assert everything.std(axis=0) == pytest.approx([1, 1])
    assert (sample.y.sum(), sample.y_test.sum(), len(sample.y)) == (0, 0, 60)


def test_of_equal_losses_the_widest_kernel_and_the_least_C_are_chosen():
    X = np.concatenate([np.zeros((15, 1)), np.ones((15, 1))])
    chosen = choose(svm, X, np.repeat([1.0, -1.0], 15), Grid(sigmas=(1.0, 0.5), Cs=(2.0, 4.0)))
    assert chosen == (1.0, 2.0, 1.0, 0.0)
    assert chosen.gamma == gamma_of(1.0) == 0.5


def test_rivals_are_tuned_on_training_points_only():
    x = np.linspace(0, 3, 24)[:, None]
    first, second = (
        RIVALS.compare(Sample(x, np.sin(3 * x[:, 0]), x_test, np.cos(x_test[:, 0])))[1]
        for x_test in (x[:5], x[5:9])
    )
    for name in ("SVR-CV", "DANK"):
        for key in ("sigma", "C", "eta_scale", "loss", "training 1 - R2"):
            assert first[name][key] == second[name][key]


def test_the_four_solvers_of_tkl_agree(written):
    _, numbers = written
    for found in numbers["tkl-figure-1"]["measured"].values():
        runs = found["C = 1"]
        assert len(runs) == 4
        assert all(0 <= run["gap"] < 1 and 0 < run["machines"] <= 12 for run in runs.values())


def test_exponents_are_those_of_a_power_law():
    m, order = np.meshgrid([100.0, 300.0, 1000.0], [4.0, 40.0])
    found = fit_exponents(m, order, 1e-6 * m**2 * order**0.5)
    assert found == pytest.approx((1e-6, 2.0, 0.5))
    assert str(found) == "m^2.0 n_P^0.5"


def test_a_random_factor_has_the_rank_and_the_lengths_of_the_paper():
    F = random_factor(9, 4, np.random.default_rng(0))
    assert np.linalg.matrix_rank(F @ F.T) == 4
    v = np.random.default_rng(0).standard_normal((9, 4))
    paper = sum(np.outer(each, each) / np.linalg.norm(each) for each in v.T)
    np.testing.assert_allclose(F @ F.T, paper)


def test_the_functions_of_lab_rbf_are_sampled_with_their_noise():
    for function in FUNCTIONS.values():
        sample = function.sample(20_000, 5, np.random.default_rng(0))
        exact = function.values(sample.X)
        ratio = np.var(sample.y - exact) / np.var(exact)
        assert ratio == pytest.approx(function.noise, rel=0.05)
        assert np.array_equal(function.values(sample.X_test), sample.y_test)
        assert function.low <= sample.X.min() < sample.X.max() <= function.high


def test_cliffs_are_where_the_ground_is_steep():
    on_cliff, on_plateau, in_river = [0.2, 0.65], [0.2, 0.9], [0.2, 0.4]
    assert near_cliffs(np.array([on_cliff, on_plateau, in_river]), 0.0).tolist() == [
        True, False, False,
    ]  # fmt: skip


def test_new_points_are_mapped_as_the_points_themselves():
    A = np.random.default_rng(0).standard_normal((12, 5))
    own, new = two_main(A @ A.T, A @ A.T)
    np.testing.assert_allclose(new, own, atol=1e-10)
    values = np.linalg.eigvalsh(A @ A.T)
    np.testing.assert_allclose((own**2).sum(axis=0), values[[-1, -2]])


def test_neighbours_are_others_or_the_points_learned_from():
    points = np.concatenate([np.arange(6.0), 100 + np.arange(6.0)])[:, None]
    y = np.repeat([0, 1], 6)
    assert accuracy_among(points, y) == 1.0
    assert accuracy_among(points, np.eye(12, dtype=int)[0]) == 11 / 12
    assert accuracy_of_new(points, y, np.array([[50.0], [99.0]]), np.array([1, 1])) == 0.5
    assert separation(points, y) > 0.9


def test_labels_of_both_classes_are_known_and_grow():
    y = np.repeat([0, 1], [20, 5])
    few, more = (ScgLabels()._some(y, count, 1) for count in (2, 12))
    assert sorted(few[few >= 0]) == [0, 1]
    assert np.sum(more >= 0) == 12
    assert np.array_equal(more[few >= 0], few[few >= 0])
    assert np.array_equal(more[more >= 0], y[more >= 0])


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_the_kept_captions_are_those_of_the_kept_numbers(figure):
    kept = json.loads((command_line.RESULTS / "numbers.json").read_text("utf-8"))["figures"]
    entry = kept[figure.name]
    assert json.loads(json.dumps(figure.setting)) == entry["setting"]
    assert figure.title == entry["title"]
    assert figure.caption(entry["measured"]) == entry["caption"]
