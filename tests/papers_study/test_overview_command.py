"""``python -m papers overview``, with measurements that take no time."""

import json
import shutil
from pathlib import Path

import pytest

from papers.__main__ import main
from papers.overview import profiles
from papers.overview.profiles import Measured, Part, figures, studies, timings
from papers.studies import STUDIES
from pliant.core.exceptions import TableError

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "papers" / "results"
SPEED = ROOT / "benchmarks" / "results"


@pytest.fixture(scope="module")
def document():
    return json.loads((RESULTS / "scg-table-4.json").read_text("utf-8"))


@pytest.fixture
def results(tmp_path, document):
    """A folder of kept results with one study and nothing else."""
    folder = tmp_path / "results"
    folder.mkdir(parents=True)
    (folder / "scg-table-4.json").write_text(json.dumps(document), "utf-8")
    return folder


@pytest.fixture
def measured(monkeypatch, document):
    """Take the place of the measurements: what was asked for, set by set."""
    asked = []

    def measure(study, sets, repeats, data, out, jobs):
        asked.append((study.name, tuple(sets), repeats, jobs))
        if "Iris" in sets:
            raise TableError("no file iris")
        if "Sonar" in sets:
            raise KeyboardInterrupt
        rows = [r for r in document["results"] if r["set"] in sets]
        return {**document, "sets": list(sets), "results": rows}

    monkeypatch.setattr(profiles, "measure", measure)
    monkeypatch.setattr(profiles, "page", lambda study, document: "# page\n")
    return asked


def run(results, out, *more):
    speed = results / "speed"  # there are no results of speed benchmarks
    options = ["--results", str(results), "--speed", str(speed), "--out", str(out)]
    return main(["overview", *options, *more])


def test_without_data_the_page_is_of_kept_results(results, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(results, out) == 0
    assert {each.name for each in out.iterdir()} == {
        f"overview.{k}" for k in ("html", "json", "md")
    }
    assert "nothing was measured" in (out / "overview.html").read_text("utf-8")
    assert "SCG      11 agrees" in capsys.readouterr().out
    data = json.loads((out / "overview.json").read_text("utf-8"))
    assert data["counts"]["agrees"]["all"] == 11
    assert data["explanations"][data["cells"][0]["explanation"]]


def test_the_command_names_what_it_can_do(capsys):
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(study.name in listed and study.title in listed for study in STUDIES.values())
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("list", "run", "pages", "overview", "figures"))


def test_figures_have_a_command_of_their_own(capsys):
    with pytest.raises(SystemExit):
        main(["figures", "--help"])
    assert "captions" in capsys.readouterr().out


def test_pages_are_written_from_kept_results(tmp_path):
    folder = copied(tmp_path)
    before = {each: each.read_bytes() for each in folder.rglob("*.json")}
    speed = str(tmp_path / "speed")
    assert main(["pages", "--results", str(folder), "--speed", speed]) == 0
    for name in (*STUDIES, "overview", "decisions"):
        kept = (RESULTS / f"{name}.md").read_text("utf-8")
        written = (folder / f"{name}.md").read_text("utf-8")
        assert written == kept, "python -m papers pages writes it again"
    assert {each: each.read_bytes() for each in before} == before


def copied(tmp_path):
    """A copy of the kept results, without what is made of them, beside those of benchmarks."""
    ignored = shutil.ignore_patterns("*.md", "overview.json")
    shutil.copytree(RESULTS, tmp_path / "kept", ignore=ignored)
    shutil.copytree(SPEED, tmp_path / "speed", ignore=ignored)
    return tmp_path / "kept"


def test_quick_writes_a_page_of_its_own(results, tmp_path, measured, monkeypatch):
    part = Part("scg-table-4", ("Wine", "Glass"), 3)
    monkeypatch.setattr(profiles, "quick", lambda kept: [part])
    monkeypatch.setattr(profiles, "QUICK_FIGURES", ())
    out, before = tmp_path / "out", (results / "scg-table-4.json").read_bytes()
    assert run(results, out, "--data", str(tmp_path), "--jobs", "2") == 0
    assert measured[:2] == [("scg-table-4", (name,), 3, 2) for name in ("Wine", "Glass")]
    assert (out / "quick" / "scg-table-4.json").exists()
    text = (out / "overview-quick.md").read_text("utf-8")
    assert "Profile quick: 4 of 18 measured cells" in text
    assert not (out / "overview.md").exists()
    assert (results / "scg-table-4.json").read_bytes() == before


def test_a_set_that_is_not_there_is_told_and_the_run_goes_on(results, tmp_path, measured):
    out = tmp_path / "out"
    arguments = ["--data", str(tmp_path), "--only", "scg-table-4", "--profile", "full"]
    parts = [Part("scg-table-4", ("Iris", "Wine"), 20)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "full", lambda: parts)
        assert run(results, out, *arguments) == 1
    assert measured[-1][1] == ("Wine",)
    text = (out / "overview.md").read_text("utf-8")
    assert "Could not be measured: scg-table-4, Iris: TableError: no file iris." in text
    assert (out / "scg-table-4.md").read_text("utf-8") == "# page\n"


def test_ctrl_c_leaves_a_page_of_what_is_done(results, tmp_path, measured, monkeypatch):
    part = Part("scg-table-4", ("Wine", "Sonar", "Glass"), 3)
    monkeypatch.setattr(profiles, "quick", lambda kept: [part])
    assert run(results, tmp_path, "--data", str(tmp_path)) == 130
    text = (tmp_path / "overview-quick.md").read_text("utf-8")
    assert "The run was stopped" in text
    assert "Profile quick: 2 of 18" in text


def test_keep_writes_kept_results_only(tmp_path, measured, monkeypatch):
    folder = copied(tmp_path)
    monkeypatch.setattr(profiles, "quick", lambda kept: [Part("scg-table-4", ("Wine",), 3)])
    monkeypatch.setattr(profiles, "QUICK_FIGURES", ())
    before = {each: each.read_bytes() for each in folder.rglob("*.json")}
    out = tmp_path / "out"
    arguments = ["overview", "--results", str(folder), "--speed", str(tmp_path / "speed")]
    assert main([*arguments, "--out", str(out), "--data", str(tmp_path), "--keep"]) == 0
    assert "Profile quick" in (out / "overview-quick.md").read_text("utf-8")
    kept = (folder / "overview.md").read_text("utf-8")
    assert "nothing was measured" in kept
    assert "quick" not in kept
    assert (folder / "decisions.md").exists()
    assert {each: each.read_bytes() for each in before} == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "0"], "expected --jobs >= 1, got 0"),
        (["--data", "nowhere"], "expected --data to be an existing folder, got 'nowhere'"),
        (["--only", "dank-table-99"], "got dank-table-99"),
        (["--profile", "fast"], "invalid choice: 'fast'"),
        (["--only", "defaults"], "expected --profile full with --only defaults"),
    ],
)
def test_wrong_options_are_quoted(arguments, said, capsys):
    with pytest.raises(SystemExit) as left:
        main(["overview", *arguments])
    assert left.value.code == 2
    assert said in capsys.readouterr().err


class Drawing:
    """A figure that counts how often it is drawn."""

    name, title, needs_data = "a", "DANK, Figure 0", False

    def __init__(self, size=(1, 2)):
        self.setting = {"size": size}


def test_a_figure_is_drawn_once_for_a_setting(tmp_path, monkeypatch):
    drawn = []

    def draw(arguments):
        drawn.append(arguments[0])
        entry = {"setting": {"size": [1, 2]}}
        (tmp_path / "numbers.json").write_text(json.dumps({"figures": {"a": entry}}), "utf-8")
        (tmp_path / "a.png").touch()

    monkeypatch.setattr(profiles, "draw", draw)
    for figure in (Drawing(), Drawing(), Drawing(size=(3,))):
        figures([figure], tmp_path, tmp_path, Measured(), lambda line: None)
    assert drawn == ["a", "a"]


def test_a_figure_that_fails_is_told(tmp_path, monkeypatch):
    def draw(arguments):
        raise ValueError("expected more,\ngot less")

    monkeypatch.setattr(profiles, "draw", draw)
    found = Measured()
    figures([Drawing()], tmp_path, tmp_path, found, lambda line: None)
    assert found.troubles == ["a: ValueError: expected more, got less"]


def test_a_speed_benchmark_that_is_there_is_read(tmp_path):
    (tmp_path / "x.json").write_text('{"benchmark": "x"}', "utf-8")
    found = Measured()
    timings(["x", "y"], tmp_path, tmp_path, found, lambda line: None)
    assert found.documents == {"x": {"benchmark": "x"}}
    assert found.troubles == ["y: KeyError: 'y'"]


def test_a_study_without_any_set_has_no_document(tmp_path, measured):
    found = Measured()
    part = Part("scg-table-4", ("Iris",), 3)
    studies([part], tmp_path, tmp_path, tmp_path, jobs=1, measured=found, log=lambda line: None)
    assert found.documents == {}
    assert len(found.troubles) == 1
