"""``pliant compare``: a race on a table, its saved blend, and messy tables."""

import io
import json
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score, log_loss, make_scorer, roc_auc_score

import pliant as package
from pliant.persistence import load
from pliant.tables import ComparisonResult
from pliant.tables.cli.compare import parse_duration, results_as_data, results_as_text
from pliant.tables.comparison.baselines import BASELINES
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from pliant.tables.comparison.cells import perform
from pliant.tables.registry import METHODS as REGISTERED
from tests.cli.conftest import captured, patients, run_here, write
from tests.comparison.report.report_cases import METHODS, result

QUICK = ("--folds", 3, "--repeats", 1, "--budget", "none", "--jobs", 1)


def unwrapped(text):
    return " ".join(text.split())


def blended(name, target="y", n=120, seed=1):
    """Write a table for which a blend of a linear model and trees is best.

    The target is linear in ``a`` and a step function of ``b``: a number, or two or three classes.
    """
    r = np.random.default_rng(seed)
    a, b = r.normal(size=(2, n)).round(3)
    value = 2.5 * a + 1.2 * (np.abs(b) < 0.7) + r.normal(0, 0.8, n)
    labels = {
        "y": value.round(3),
        "two": np.where(value > 1, "high", "low"),
        "three": np.select([value > 1.3, value > 0.3], ["high", "mid"], "low"),
    }
    pd.DataFrame({"a": a, "b": b, target: labels[target]}).to_csv(name, index=False)
    return name


# The race and its output

NAMES = ("<script>alert(1)</script>", "=cmd()\x1b[2J", "colour", "sick")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run one comparison of a table with malicious names; return its output and files."""
    place = tmp_path_factory.mktemp("compare")
    lines = [line.split(",")[:4] for line in patients()[1:]]
    for number, cells in enumerate(lines):
        cells[0] = "" if number % 9 == 0 else cells[0]
        cells[2] = "<img src=x onerror=alert(2)>" if number % 5 == 0 else cells[2]
    write(place / "t.csv", ",".join(NAMES), *map(",".join, lines))
    files = {name: place / name for name in ("report.html", "r.json", "cells.jsonl")}
    words = ["compare", place / "t.csv", "--target", "sick", "--methods", "dummy,linear,dank"]
    words += [*QUICK, "--cache", files["cells.jsonl"]]
    written = ["--report", files["report.html"], "--json", files["r.json"]]
    with pytest.MonkeyPatch.context() as patch:
        run_here(patch)
        patch.setitem(REGISTERED, "dank", replace(REGISTERED["dank"], grid={"C": (1.0, 10.0)}))
        yield words, captured(*words, *written), files


def test_a_comparison_is_told(run):
    _, done, files = run
    assert done.code == 0, done.err
    assert (done.out + done.err).replace("\n", "").isprintable()
    before = done.out.partition(str(files["r.json"].parent))[0]  # long folder names need more
    assert max(map(len, before.splitlines())) < 80
    told = done.out.splitlines()
    assert told[0] == "t: classification of 'sick', 60 rows, 3 columns, 2 classes"
    assert told[1].startswith("Scores on 3 held-out folds, ")
    assert {"DANK", "Linear", "Dummy"} <= {line.split()[0] for line in told[5:9]}
    assert re.search(r"Predict with .*: accuracy .* on held-out rows", unwrapped(done.out))
    notes = done.err.splitlines()
    assert notes[0].startswith(f"Note: finished folds are saved in '{files['cells.jsonl']}'")
    assert notes[1] == "t: at most 9 fits on 3 folds"
    assert notes[2].startswith("t: 1 fold of 2 methods after ")
    assert notes[-1].startswith("t: 3 folds of 3 methods after ")


def test_its_data_are_those_of_the_result(run):
    words, _, files = run
    data = json.loads(files["r.json"].read_text("utf-8"))
    found = ComparisonResult.from_dict(data)
    assert [each.name for each in found.methods] == ["dummy", "linear", "dank"]
    assert [each.status for each in found.methods] == ["done"] * 3
    assert len(found.records) == 9
    assert found.sample["feature_names"] == list(NAMES[:3])
    assert found.sample["missing"]["cells"] > 0
    assert found.command.startswith(shlex.join(["pliant", *map(str, words)]))


class Tags(HTMLParser):
    """Parser that collects tags with their attributes."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_names_of_a_table_are_text_in_the_report(run):
    html = run[2]["report.html"].read_text("utf-8")
    assert "<script>alert(1)" not in html
    assert "\x1b" not in html
    parser = Tags()
    parser.feed(html)
    assert not any("onerror" in attributes for _, attributes in parser.tags)
    policies = [a for tag, a in parser.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1


def test_resuming_runs_nothing_and_gives_the_same(run, refused, folder):
    words, first, files = run
    before = files["cells.jsonl"].read_bytes()
    again = captured(*words, "--resume", "--json", "-")
    assert again.code == 0
    kept = json.loads(files["r.json"].read_text("utf-8"))
    assert json.loads(again.out)["records"] == kept["records"]
    assert captured(*words, "--resume").out.split("\n\n")[1] == first.out.split("\n\n")[1]
    assert "belongs to another table, other options" in refused(*words, "--resume", "--seed", 1)
    assert files["cells.jsonl"].read_bytes() == before


@pytest.mark.parametrize("folds", [3, 5])
def test_the_blend_is_recommended_without_p_values_on_few_folds(pliant, folder, here, folds):
    blended("t.csv")
    words = ("--methods", "linear,extra-trees,dummy", *QUICK, "--folds", folds, "--json", "r.json")
    done = pliant("compare", "t.csv", "--target", "y", *words)
    assert done.code == 0, done.err
    sentence = (
        r"Predict with the blend: R2 0\.\d+ \(0\.\d+ to [01]\.\d+\) on held-out rows; "
        r"best single method (Extra trees|Linear) 0\.\d+\."
    )
    assert re.search(sentence, unwrapped(done.out))
    assert ("corrected t test" in done.out) == (folds == 5)
    assert ("folds are uncertain: more folds would help" in unwrapped(done.out)) == (folds == 3)
    data = json.loads(Path("r.json").read_text("utf-8"))
    tested = {each["name"]: each["p_value"] is not None for each in data["leaderboard"]}
    second = data["leaderboard"][1]["name"]
    assert tested == {"linear": False, "extra-trees": False, "dummy": False} | {second: folds == 5}
    assert data["best"] == "blend"
    assert sum(data["weights"].values()) == pytest.approx(1)
    assert data["expected"]["low"] < data["expected"]["mean"] < data["expected"]["high"]
    assert data["expected"]["mean"] > max(each["mean"] for each in data["leaderboard"])


# Saved blends


def test_a_model_fitted_during_the_race_is_saved_as_it_is(pliant, folder):
    blended("t.csv")
    words = ("--methods", "extra-trees", "--budget", "600s", "--out", "m.pliant")
    done = pliant("compare", "t.csv", "--target", "y", *QUICK, *words)
    assert done.code == 0, done.err
    assert "Fitting" not in done.err
    assert load("m.pliant")[-1].n_features_in_ > 0


def test_a_blend_of_numbers_is_saved_shown_and_predicts_intervals(pliant, folder, here):
    blended("t.csv")
    words = ("--methods", "linear,extra-trees,dummy", *QUICK, "--out", "m.pliant")
    done = pliant("compare", "t.csv", "--target", "y", *words)
    assert done.code == 0, done.err
    assert "Fitting the blend on all rows" in done.err
    assert "  pliant predict m.pliant NEW_TABLE --out predictions.csv" in done.out.splitlines()
    shown = unwrapped(pliant("info", "m.pliant").out)
    assert re.search(r"method blend: 0\.\d\d (linear|extra-trees), 0\.\d\d ", shown)
    assert "Predict with the blend: R2" in shown
    assert re.search(r"scores R2 0\.\d+ ± 0\.\d+, RMSE", shown)
    model = load("m.pliant")
    assert isinstance(model[-1], BlendRegressor)
    found = pliant("predict", "m.pliant", "t.csv", "--interval", 0.8)
    frame, truth = pd.read_csv(io.StringIO(found.out)), pd.read_csv("t.csv").y
    assert list(frame) == ["prediction", "low", "high"]
    assert 0.7 < ((frame.low <= truth) & (truth <= frame.high)).mean() <= 1
    np.testing.assert_allclose((frame.high - frame.low).std(), 0, atol=1e-9)


@pytest.mark.parametrize(("target", "seed"), [("two", 8), ("three", 2)])
def test_a_blend_of_classes_is_saved_and_predicts_probabilities(pliant, folder, here, target, seed):
    blended("t.csv", target, seed=seed)
    words = ("--methods", "linear,forest,dummy", *QUICK, "--out", "m.pliant")
    done = pliant("compare", "t.csv", "--target", target, *words)
    assert done.code == 0, done.err
    assert isinstance(load("m.pliant")[-1], BlendClassifier)
    found = pliant("predict", "m.pliant", "t.csv", "--proba")
    frame = pd.read_csv(io.StringIO(found.out))
    labels = sorted(set(pd.read_csv("t.csv")[target]))
    assert list(frame) == ["prediction", *(f"probability {label}" for label in labels)]
    np.testing.assert_allclose(frame.iloc[:, 1:].sum(axis=1), 1)
    refused = pliant("predict", "m.pliant", "t.csv", "--interval", 0.8)
    assert "--interval needs a regression model of lab-rbf or a blend" in refused.err
    late = pliant("predict", "m.pliant", "t.csv", "--threshold", "low=0.9")
    if target == "three":
        assert "--threshold needs a model of two classes" in late.err
        return
    chosen = pd.read_csv(io.StringIO(late.out)).prediction
    assert chosen.tolist() == np.where(frame["probability low"] >= 0.9, "low", "high").tolist()
    assert pliant("predict", "m.pliant", "t.csv", "--threshold", 0.9).out == late.out
    rare = pliant("predict", "m.pliant", "t.csv", "--threshold", "high=0.1").out.splitlines()[1:]
    assert rare == np.where(frame["probability high"] >= 0.1, "high", "low").tolist()
    for wrong, said in (("1.5", "got 1.5"), ("up=0.3", "'high' or 'low', got 'up'"), ("x", "'x'")):
        assert said in pliant("predict", "m.pliant", "t.csv", "--threshold", wrong).err


def test_single_saves_the_best_single_method(pliant, folder, here):
    blended("t.csv")
    words = ("--methods", "linear,extra-trees,dummy", *QUICK, "--out", "m.pliant", "--single")
    done = pliant("compare", "t.csv", "--target", "y", *words)
    assert done.code == 0, done.err
    (best,) = re.findall(r"best single method (.*?) 0", unwrapped(done.out))
    name = {"Linear": "linear", "Extra trees": "extra-trees"}[best]
    assert f"the best single method, {best}" in unwrapped(done.out)
    assert f"method {name}: " in unwrapped(pliant("info", "m.pliant").out)


def test_the_report_is_written_before_a_model_that_cannot_be_saved(pliant, folder, here):
    pytest.importorskip("matplotlib")
    write("t.csv", *patients())
    words = ("--methods", "dummy", *QUICK, "--out", "m.pliant", "--report", "r.html")
    done = pliant("compare", "t.csv", "--target", "sick", *words)
    assert done.code == 2
    assert "Error: no method has a score" in done.err
    assert "<h1>" in Path("r.html").read_text("utf-8")
    assert not Path("m.pliant").exists()


@pytest.mark.parametrize("single", [(), ("--single",)])
def test_fit_with_a_budget_races_and_saves_the_blend(pliant, folder, here, monkeypatch, single):
    blended("t.csv")
    quick = replace(REGISTERED["lab-rbf"], given={"n_members": 2, "max_iter": 5})
    monkeypatch.setitem(REGISTERED, "lab-rbf", quick)
    known = {**REGISTERED, **BASELINES}
    names = ("lab-rbf", "linear", "extra-trees", "dummy")
    monkeypatch.setattr(
        "pliant.tables.comparison.contenders.contenders_for",
        lambda *_: [known[name] for name in names],
    )
    words = ("--target", "y", "--budget", "600s", "--cv", 3, "--out", "m.pliant", *single)
    done = pliant("fit", "t.csv", *words, "--json", "r.json")
    assert done.code == 0, done.err
    assert "Predict with the blend" in done.out
    assert isinstance(load("m.pliant")[-1], BlendRegressor) == (not single)
    saved = "lab-rbf" if single else "blend"
    assert f"m.pliant the model: {saved}" in unwrapped(done.out)
    assert "Best model over time: LAB-RBF 0." in unwrapped(done.out)
    found = json.loads(Path("r.json").read_text("utf-8"))
    assert found["budget"] <= 600
    assert (found["best"], found["saved"], found["spent"] > 0) == ("blend", saved, True)
    assert sorted(p.name for p in folder.iterdir()) == [
        "m.pliant", "patients.csv", "r.json", "t.csv",
    ]  # fmt: skip


class Odd(Ridge):
    """A regressor from outside scikit-learn, which model files do not support."""


def test_what_a_file_cannot_hold_enters_no_blend(folder, here):
    blended("t.csv")
    frame = pd.read_csv("t.csv")
    found = package.compare(
        frame[["a", "b"]].to_numpy(), frame.y, methods=["linear", "extra-trees", ("odd", Odd())],
        folds=3, repeats=1, n_jobs=1, budget=None,
    )  # fmt: skip
    assert {each.name: each.blends for each in found.methods} == {
        "linear": True, "extra-trees": True, "odd": False,
    }  # fmt: skip
    assert "odd" not in found.blend.weights
    assert next(s for s in found.standings() if s.method.name == "odd").mean is not None


# Messy tables


def rare(n=120, share=0.06):
    """Return CSV lines with a rare class and spaces around texts."""
    r = np.random.default_rng(1)
    lines = ["a,b,y"]
    for k in range(n):
        sick = k < share * n
        lines.append(
            f"{r.normal(3 * sick):.2f},{' x' if k % 3 else 'z '},{'sick ' if sick else 'well'}"
        )
    return lines


def test_rare_classes_are_warned_of_and_ranked_by_the_log_loss(pliant, folder, here):
    write("t.csv", *rare())
    words = ("--methods", "linear,dummy", *QUICK, "--out", "m.pliant", "--report", "r.html")
    done = pliant("compare", "t.csv", "--target", "y", *words)
    assert done.code == 0, done.err
    text = unwrapped(done.out)
    assert "log loss (lower is better)" in text
    assert "class 'sick' has 6.7% of the rows" in text.replace("Class", "class")
    assert "probabilities with a threshold" in text
    assert "has 6.7% of the rows" in unwrapped(Path("r.html").read_text("utf-8"))
    chosen = [
        pd.read_csv(io.StringIO(pliant("predict", "m.pliant", "t.csv", *more).out)).prediction
        for more in ((), ("--threshold", "sick=0.01"))
    ]
    assert (chosen[1] == "sick").sum() > (chosen[0] == "sick").sum()
    other = (*words[:-4], "--metric", "f1_macro")  # without a model and a report
    told = pliant("compare", "t.csv", "--target", "y", *other)
    assert "f1_macro" in told.out
    assert "has 6.7%" in unwrapped(told.out)


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "--methods", "linear,dummy", *QUICK),
        ("fit", "--cv", 3, "--method", "linear"),
        ("fit", "--cv", 3, "--budget", "1s"),
    ],
)
def test_a_class_with_fewer_rows_than_folds_is_left_out(pliant, folder, here, words):
    write("t.csv", *patients(), "40,1,red,perhaps,low,6", "40,1,red,perhaps,low,6")
    done = pliant(words[0], "t.csv", "--target", "sick", *words[1:])
    assert done.code == 0, done.err
    line = "2 rows of class 'perhaps' left out: too few for 3 folds"
    assert done.err.count(line) == 1
    assert "60 rows" in done.out


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_rows_without_a_target_are_left_out(pliant, folder, here, command):
    write("t.csv", *patients(), "40,1,red,,low,6", "40,1,red,,low,6")
    words = ("--methods", "linear,dummy", *QUICK) if command == "compare" else ("--cv", 3)
    words += ("--method", "linear") if command == "fit" else ()
    done = pliant(command, "t.csv", "--target", "sick", *words)
    assert done.code == 0, done.err
    assert done.err.count("left out: 2 rows without 'sick'") == 1
    assert "60 rows" in done.out
    strict = pliant(command, "t.csv", "--target", "sick", *words, "--missing", "error")
    assert "column 'sick' has 2 missing values, the first in row 61" in strict.err


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_spaces_around_texts_do_not_matter(pliant, folder, here, command):
    write("t.csv", *rare(share=0.3))
    write("plain.csv", *(line.replace(" ", "") for line in rare(share=0.3)))
    words = ("--methods", "linear,dummy", *QUICK) if command == "compare" else ("--cv", 0)
    words += ("--method", "linear") if command == "fit" else ()
    told = []
    for table in ("t", "plain"):
        done = pliant(command, f"{table}.csv", "--target", "y", *words, "--out", f"{table}.pliant")
        assert done.code == 0, done.err
        note = "spaces around text in 'b', 'y' are removed"
        assert done.err.count(note) == (table == "t")
        for later in ("t", "plain"):
            predicted = pliant("predict", f"{table}.pliant", f"{later}.csv", "--proba")
            assert (predicted.code, predicted.err) == (0, "")
            told.append(predicted.out)
    assert told[0].startswith("prediction,probability sick,probability well\n")
    assert told == [told[0]] * 4


def test_many_integers_may_be_meant_as_numbers(pliant, folder, here):
    r = np.random.default_rng(0)
    write("t.csv", "a,quality", *(f"{v:.2f},{3 + k % 7}" for k, v in enumerate(r.normal(size=105))))
    words = ("--methods", "linear,dummy", *QUICK, "--target", "quality")
    told = unwrapped(pliant("compare", "t.csv", *words).out)
    assert "7 values of 'quality' are treated as classes: set the task to regression" in told
    again = pliant("compare", "t.csv", *words, "--task", "regression").out
    assert "regression of 'quality'" in again
    assert "taken for classes" not in unwrapped(again)


def test_a_table_without_a_header(pliant, folder, here):
    lines = [line.replace("no", "0").replace("yes", "1").split(",") for line in patients()[1:]]
    write("t.csv", *(f"{cells[0]},{cells[1]},{cells[3]}" for cells in lines))
    words = ("--methods", "linear,dummy", *QUICK)
    unnamed = pliant("compare", "t.csv", "--target", lines[0][3], *words)
    assert "the first line of 't.csv' looks like data" in unnamed.err
    for command, more in (("compare", words), ("fit", ("--method", "linear", "--cv", 2))):
        asked = ("--target", "column 3", "--no-header", "--out", "m.pliant", *more)
        done = pliant(command, "t.csv", *asked)
        assert done.code == 0, done.err
        assert "60 rows, 2 columns, 2 classes" in done.out
        assert "columns named by position" in done.err
        assert "looks like data" not in done.err
        for given in ((), ("--no-header",)):  # stored in the model
            predicted = pliant("predict", "m.pliant", "t.csv", *given)
            assert len(predicted.out.splitlines()) == 61, predicted.err


def test_several_targets_are_refused_with_the_way_out(refused, folder, here):
    words = ("compare", "patients.csv", "--methods", "linear,dummy", *QUICK)
    for several in (("--target", "sick", "--target", "grade"), ("--target", "sick,grade")):
        assert "expected one" in refused(*words, *several)
    X = np.random.default_rng(0).normal(size=(30, 2))
    expected = r"expected y of shape \(30,\), got \(30, 2\): compare one target at a time"
    for features in (X, pd.DataFrame(X, columns=["a", "b"])):
        with pytest.raises(ValueError, match=expected):
            package.compare(features, X, methods=["linear"])


# Metrics, executors, Ctrl-C


def test_metrics_have_the_names_of_scikit_learn(pliant, folder, here):
    """For three classes, scores such as the area under the curve equal scikit-learn's."""
    blended("t.csv", "three")
    words = ("--methods", "linear,dummy", *QUICK, "--target", "three", "--json", "r.json")
    frame = pd.read_csv("t.csv")
    y, labels = frame.three.to_numpy(str), np.array(["high", "low", "mid"])
    twins = {
        "f1_macro": lambda y, p: f1_score(y, labels[p.argmax(axis=1)], average="macro"),
        "roc_auc": lambda y, p: roc_auc_score(y, p, multi_class="ovr", labels=labels),
        "neg_log_loss": lambda y, p: log_loss(y, p, labels=labels),
    }
    for name, twin in twins.items():
        assert pliant("compare", "t.csv", *words, "--metric", name).code == 0
        data = json.loads(Path("r.json").read_text("utf-8"))
        metric = data["protocol"]["metric"]
        cells = [each for each in data["records"] if each["method"] == "linear"]
        for cell in cells:
            p = np.array(cell["kept"]["values"])
            expected = twin(y[cell["kept"]["rows"]], p / p.sum(axis=1, keepdims=True))
            assert cell["scores"][metric] == pytest.approx(expected, rel=1e-4)


def test_a_scorer_ranks_in_python(folder, here):
    frame = pd.read_csv("patients.csv")[["age", "dose", "sick"]]
    scorer = make_scorer(f1_score, pos_label="yes")
    options = {"methods": ["linear", "dummy"], "folds": 3, "repeats": 1, "n_jobs": 1}
    found = package.compare(frame[["age", "dose"]], frame.sick, metric=scorer, **options)
    named = found.metric.name
    assert all(named in each["scores"] for each in found.records)
    assert found.best_single.mean == max(each.mean for each in found.standings())


def executor_of(kind):
    """Return an executor as a context manager: leftover threads disturb memory tests."""
    if kind == "threads":
        return ThreadPoolExecutor(2)
    distributed = pytest.importorskip("distributed", reason="needs Dask's distributed scheduler")
    one = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
    return distributed.Client(dashboard_address=":0", **one)


@pytest.mark.parametrize("kind", ["threads", pytest.param("dask", marks=pytest.mark.slow)])
def test_an_executor_gives_the_same_scores(folder, here, capsys, kind):
    frame = pd.read_csv("patients.csv")[["age", "dose", "sick"]]
    X, y = frame[["age", "dose"]].to_numpy(), frame.sick.to_numpy(str)
    options = {"methods": ["linear", "dummy"], "folds": 3, "repeats": 1, "n_jobs": 2}
    plain = package.compare(X, y, **options)
    with executor_of(kind) as executor:
        found = package.compare(X, y, executor=executor, progress=True, **options)
    assert [r["scores"] for r in found.records] == [r["scores"] for r in plain.records]
    assert "3 folds of 2 methods" in capsys.readouterr().err  # progress is printed in Python, too


def test_ctrl_c_ends_in_the_table_so_far(pliant, folder, here, monkeypatch):
    calls = []

    def interrupted(*cell):
        calls.append(cell)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return perform(*cell)

    monkeypatch.setattr("pliant.tables.comparison.cells.perform", interrupted)
    words = ("--target", "sick", "--methods", "linear,dummy", *QUICK, "--report", "r.html")
    done = pliant("compare", "patients.csv", *words)
    assert done.code == 130
    assert "Scores on 2 held-out folds" in done.out
    assert "Predict with Linear" in done.out
    assert "The comparison was interrupted" in unwrapped(done.out)
    assert "  the same command with --resume: runs the missing folds\n" in done.out
    assert Path("r.html").stat().st_size > 1000
    assert len(Path("patients.compare.jsonl").read_text("utf-8").splitlines()) == 6
    again = pliant("compare", "patients.csv", *words, "--resume")
    assert again.code == 0
    assert "Scores on 3 held-out folds" in again.out


def test_ctrl_c_before_the_first_fold_saves_nothing(pliant, folder, here, monkeypatch):
    def interrupted(*cell):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.tables.comparison.cells.perform", interrupted)
    words = ("--target", "sick", "--methods", "linear,dummy", *QUICK, "--out", "m.pliant")
    done = pliant("compare", "patients.csv", *words)
    assert done.code == 130
    assert "No method finished a fold" in done.out
    assert not re.search(r"^m\.pliant", done.out, re.MULTILINE)
    assert not Path("m.pliant").exists()


# Options


@pytest.fixture
def asked(folder, monkeypatch):
    """Record the calls of `compare_sample`, which returns artificial results after 2 seconds."""
    calls, clock = [], SimpleNamespace(now=64.0)

    def compare_sample(sample, methods, protocol, options, *, single):
        calls.append((sample, methods, protocol, options))
        clock.now += 2.0
        return result(sample.task, name=sample.name, seed=len(calls), command=options.command)

    monkeypatch.setattr("pliant.tables.cli.compare.compare_sample", compare_sample)
    monkeypatch.setattr("pliant.tables.cli.compare.warm_up", lambda n: None)
    simulated = SimpleNamespace(monotonic=lambda: clock.now)
    monkeypatch.setattr("pliant.tables.cli.compare.time", simulated)
    return calls


def test_options_reach_the_comparison(pliant, asked):
    lines = patients()
    write("t.csv", f"{lines[0]},at", *(f"{line},{-k}" for k, line in enumerate(lines[1:])))
    words = "--methods svm,dank --budget 1h30m --folds 3 --repeats 4 --metric auc --seed 7 --jobs 2"
    words += " --time at --drop grade --drop amount --task classification --cache c --resume"
    assert pliant("compare", "t.csv", "--target", "sick", *words.split()).code == 0
    ((sample, methods, protocol, options),) = asked
    assert sample.feature_names == ("age", "dose", "colour")
    assert sample.ordered
    assert sample.y.tolist() == ["yes", "no"] * 30  # in reverse order
    assert methods == ("svm", "dank")
    assert (protocol.folds, protocol.repeats, protocol.metric, protocol.seed) == (3, 4, "auc", 7)
    assert options.budget == 5400
    assert (options.n_jobs, options.resume, options.cache) == (2, True, Path("c"))
    assert options.command == f"pliant compare t.csv --target sick {words}"


def test_several_tables_share_the_budget(pliant, asked):
    for name in ("a.csv", "b.csv", "sub/a.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        write(name, *patients())
    tables = ("a.csv", "b.csv", "sub/a.csv")
    done = pliant("compare", *tables, "--target", "sick", "--budget", "30s", "--json", "r.json")
    assert done.code == 0
    assert [sample.name for sample, *_ in asked] == ["a", "b", "a-2"]
    # the time that a table leaves is shared by the next ones
    assert [options.budget for *_, options in asked] == [30 / 3, 28 / 2, 26]
    caches = [str(options.cache) for *_, options in asked]
    assert caches == ["a.compare.jsonl", "b.compare.jsonl", "a-2.compare.jsonl"]
    assert "\nOver 3 tables\n" in done.out
    assert "average rank" in done.out
    data = json.loads(Path("r.json").read_text("utf-8"))
    assert [each["sample"]["name"] for each in data["tables"]] == ["a", "b", "a-2"]
    ranked = {each.name for each in METHODS if each.status in ("done", "cut")}
    assert set(data["across"]["ranks"]) == ranked - {"dummy"}


def test_tables_without_a_common_method_have_no_ranks():
    results = [
        result(name=name, methods=[each for each in METHODS if each.name in (name, "dummy")])
        for name in ("svm", "forest")
    ]
    reason = (
        "expected at least 2 methods with a rank on all tables, got 0 (svm: forest: not compared; "
        "forest: svm: not compared)"
    )
    assert f"Over 2 tables: no ranks, {reason}" in unwrapped(results_as_text(results))
    assert results_as_data(results)["across"] == {"reason": reason}


REFUSED = {
    ("--methods", "dank,svmm"): "unknown method 'svmm'; did you mean 'svm'?",
    ("--methods", "dank,dank"): "expected each method once in --methods, got dank twice",
    ("--budget", "10"): "expected --budget TIME such as 90s, 10m, 1h or none, got '10'",
    ("--folds", "1"): "Invalid value for '--folds': ",
    ("--metric", "acuracy"): "unknown metric 'acuracy'; did you mean 'accuracy'",
    ("--time", "colour"): "expected a number or a date such as 2024-01-31 in row 1, got",
    ("--time", "age", "--group", "grade"): "--group and --time cannot be combined",
    ("--single",): "--single needs --out: add --out FILE",
    ("--out", "patients.csv"): "'patients.csv' is already in use",
    ("--report", "-"): "expected a file name, got '-': only --json can be written to stdout",
    ("--json", "r", "--report", "r"): "'r' is already in use: choose another name",
    ("patients.csv",): "expected each table once, got 'patients.csv' twice",
    ("other.csv", "--cache", "c"): "--cache applies to a single table",
    ("other.csv", "--out", "m"): "--out saves a single model: expected one table, got 2",
    ("--cache", "thesis.txt"): "'thesis.txt' is not a comparison file",
    ("--cache", "thesis.txt", "--resume"): "'thesis.txt' is not a comparison file",
}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_options(refused, folder, words):
    write("other.csv", *patients())
    write("thesis.txt", "my thesis")
    assert REFUSED[words] in refused("compare", "patients.csv", "--target", "sick", *words)
    assert Path("thesis.txt").read_text("utf-8") == "my thesis\n"


def test_times():
    times = {"90s": 90, "10m": 600, "1h": 3600, "1h30m": 5400, " 1.5H ": 5400, "None": None}
    assert {text: parse_duration(text) for text in times} == times
