"""Each figure of the papers in a small setting has a picture, a caption, and numbers."""

import json
import math

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from papers.figures import FIGURES, draw, figures
from papers.figures.lab import FUNCTIONS
from papers.figures.shared import choose, clowns, svm
from tests.papers_study.made_up import write_set

FEW = [-1, 3]
RIVALS = {"powers": FEW, "eta_scales": [1.0, 0.1]}
PLANE = {"n_per_class": 15, "n_test_per_class": 20, "powers": FEW}
SMALL = figures(**{
    "dank-figure-1": {**PLANE, "sigmas": [0.0], "resolution": 12},
    "dank-figure-2": PLANE,
    "dank-figure-4": {"iterations": 20, "tol": 1e-6, "powers": FEW},
    "dank-figure-6a": {"n": 20, "n_test": 50, **RIVALS},
    "dank-figure-6bcd": {"squares": [[-0.5, 0.5]], "n": 25, "resolution": 6, **RIVALS},
    "knpl-figure-2": {**PLANE, "draws": 2, "resolution": 12},
    "knpl-figure-3": {"iterations": 20, "rounds": 4, "tol": 1e-6, "powers": FEW},
    "tkl-figure-3": {"n": 40, "resolution": 12, "gammas": [8.0, 64.0], "deltas": [0.3],
                     "Cs": [1.0, 10.0], "folds": 2},
    "tkl-figure-4": {"sets": ["california_housing", "heart_statlog"], "count": 30,
                     "ranks": [1, 3], "draws": 2},
    "lab-rbf-figure-1": {"n": 40, "n_support": 8, "max_iter": 5, "resolution": 51},
    "lab-rbf-figure-4": {"shares": [0.3], "n": 30, "n_test": 30, "repeats": 2, "max_iter": 1},
    "lab-rbf-figure-5": {"sigmas": [0.1, 10.0], "n_support": 12, "n_more": 16, "n_test": 30,
                         "repeats": 2, "max_iter": 1},
    "scg-figure-3": {"shares": 5, "repeats": 1, "sweeps": 5},
})  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the output folder of one run and its numbers, with generated tables for two sets."""
    data, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("figures")
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 20)
    X = rng.standard_normal((40, 3)) + 0.8 * y[:, None]
    write_set(data, "heart_statlog", X, y)
    write_set(data, "california_housing", X, X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(40))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("f2", "f3"):
            patch.delitem(FUNCTIONS, name)  # drawn as the two others
        draw([], data, out, SMALL)
    return out, json.loads((out / "numbers.json").read_text("utf-8"))["figures"]


def leaves(entry):
    if isinstance(entry, dict | list):
        values = entry.values() if isinstance(entry, dict) else entry
        return [leaf for each in values for leaf in leaves(each)]
    return [entry]


DRAWN = [figure for figure in SMALL if "draw" in figure.texts]


@pytest.mark.parametrize("figure", DRAWN, ids=lambda figure: figure.name)
def test_a_figure_is_a_small_picture_with_caption_and_finite_numbers(figure, written):
    out, found = written
    entry = found[figure.name]
    content = (out / entry["file"]).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) < 150_000
    assert "paper" in entry["caption"]
    values = [leaf for leaf in leaves(entry["measured"]) if leaf is not None]
    assert len(values) >= 8
    assert all(math.isfinite(leaf) for leaf in values)
    assert entry["caption"] in (out / "captions.md").read_text("utf-8")


def test_the_paper_s_methods_stay_below_the_certified_optimum(written):
    measured = written[1]["dank-figure-4"]["measured"]
    best = measured["optimum less h(0)"]
    for method in ("projected gradient", "Algorithm 1 (Nesterov)"):
        assert 0 < measured[method]["objective less h(0)"] < best + measured["certified gap"]
    assert measured["pliant"]["objective less h(0)"][-1] == pytest.approx(best)


def test_the_alternation_swings_around_the_optimum(written):
    measured = written[1]["knpl-figure-3"]["measured"]
    for scale in ("eta_scale 1", "eta_scale 0.1"):
        found = measured[scale]
        assert max(found["after G"]) <= found["optimum"] + found["certified gap"]
        assert min(found["after alpha"]) >= found["optimum"] - 1e-6


def test_a_named_figure_is_drawn_alone_and_others_need_data(written, tmp_path, capsys):
    draw(["dank-figure-2", "dank-figure-4"], None, tmp_path, SMALL)
    assert "dank-figure-4: skipped, it requires --data" in capsys.readouterr().err
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["captions.md", "dank-figure-2.png", "numbers.json"]
    draw(["tkl-figure-3"], None, tmp_path, SMALL)
    entries = json.loads((tmp_path / "numbers.json").read_text("utf-8"))["figures"]
    assert list(entries) == ["dank-figure-2", "tkl-figure-3"]
    assert len(FIGURES) == len(SMALL) == 18


def test_samples_and_choices_are_what_they_are_called():
    from types import SimpleNamespace

    points = clowns(SimpleNamespace(n_per_class=30, n_test_per_class=70, seed=0))
    everything = np.concatenate([points.X, points.X_test])
    assert everything.mean(axis=0) == pytest.approx([0, 0], abs=1e-12)
    assert (points.y.sum(), points.y_test.sum(), len(points.y)) == (0, 0, 60)
    X, y = np.repeat([[0.0], [1.0]], 15, axis=0), np.repeat([1.0, -1.0], 15)
    assert choose(svm, X, y, powers=[0, -1]) == (1.0, 0.5, 1.0, 0.0)  # widest, smallest C
    for function in FUNCTIONS.values():
        drawn = function.sample(20_000, 5, np.random.default_rng(0))
        exact = function.values(drawn.X)
        assert np.var(drawn.y - exact) / np.var(exact) == pytest.approx(function.noise, rel=0.05)
        np.testing.assert_array_equal(function.values(drawn.X_test), drawn.y_test)
