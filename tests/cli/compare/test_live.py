"""What is shown while a comparison runs."""

import pytest
from rich.console import Console

from pliant.cli.compare import live as live_module
from pliant.cli.compare.live import live
from pliant.comparison.metrics import METRICS
from pliant.comparison.protocol import DEFAULT, SAMPLED, SEARCHED, Cell, Protocol
from pliant.comparison.run.running import Moment
from tests.comparison.comparison_cases import staged

ACCURACY, PROTOCOL = METRICS["accuracy"], Protocol()


def moment(seconds, n=1, stage=DEFAULT, *, answered=True, budget=300.0, left=5):
    """A moment at which two methods have n folds."""
    records = [
        *staged("svm", stage, [0.9] * n),
        *staged("lab-rbf", stage, [0.95] * n),
    ]
    running = (Cell("dank", 0, 0, SEARCHED), Cell("gp", 1, 2, stage))
    remaining = None if budget is None else budget - seconds
    return Moment(tuple(records), running, left, seconds, remaining, answered)


def lines(capsys, *moments, quiet=False):
    with live("Comparing on t", ACCURACY, PROTOCOL, quiet=quiet) as watch:
        for each in moments:
            watch(each)
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err.splitlines()


def test_lines_where_there_is_no_terminal(capsys):
    """A line with the first leaderboard, then one a minute."""
    moments = [moment(1.0, 0, answered=False), moment(2.0, answered=False), moment(9.0)]
    moments += [moment(20.0, 2), moment(80.0, 3, SEARCHED)]
    assert lines(capsys, *moments) == [
        "Comparing on t: 5 cells",
        "After 9.0 s: accuracy on 1 fold: LAB-RBF 0.950, Gaussian SVM 0.900",
        "After 1 min 20 s: accuracy on 3 folds: LAB-RBF 0.950, Gaussian SVM 0.900",
    ]


def test_the_first_leaderboard_comes_after_a_tenth_at_the_latest(capsys):
    late = [moment(29.0, answered=False), moment(30.0, 1, SAMPLED, answered=False)]
    assert lines(capsys, *late)[1:] == [
        "After 30.0 s: accuracy on 1 fold, a sample of the rows: LAB-RBF 0.950, Gaussian SVM 0.900"
    ]


@pytest.mark.parametrize(("quiet", "budget"), [(True, 300.0), (False, None)])
def test_quiet_and_without_a_budget_there_is_one_line(capsys, quiet, budget):
    assert lines(capsys, moment(9.0, budget=budget), quiet=quiet) == ["Comparing on t: 7 cells"]
    assert lines(capsys, moment(9.0, budget=budget, left=0), quiet=quiet) == []


def test_a_terminal_shows_ranks_what_runs_and_the_time_left(monkeypatch):
    console = Console(force_terminal=True, width=79, record=True, stderr=True)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    with live("Comparing on t", ACCURACY, PROTOCOL, quiet=False) as watch:
        assert isinstance(watch, live_module._Screen)
        watch(moment(1.0, 0, answered=False))
        watch(moment(60.0, 2))
    shown = console.export_text()
    assert "After 1 min: accuracy on 2 folds: LAB-RBF 0.950, Gaussian SVM 0.900" in shown
    assert "Comparing on t: 4 cells done, 5 to do, 4 min left" in shown
    assert "running: DANK (searched settings, fold 1.1), Gaussian process (default" in shown
    assert [w for w in shown.split() if w in ("LAB-RBF", "Gaussian")][-3:] != []
