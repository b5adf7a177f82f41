"""What ``pliant compare`` prints: fits a terminal, says why, and cannot drive it."""

from pathlib import Path

import pytest

from pliant.cli.compare.plan import Plan, duration
from pliant.cli.compare.text import all_as_text, ending
from pliant.cli.table_options import TableOptions
from tests.comparison.report.report_cases import HOSTILE, result


def test_it_fits_a_terminal():
    for task in ("classification", "regression"):
        assert max(map(len, all_as_text([result(task)] * 3).splitlines())) < 80


@pytest.mark.parametrize("text", HOSTILE)
def test_what_comes_from_outside_is_printable(text):
    found = result(name=text, error=f"ValueError: {text}\nand more")
    found.sample["target"] = text
    plan = Plan(
        (Path(text.replace("\x00", "").replace("/", "")),), text, table=TableOptions(drop=(text,))
    )
    shown = all_as_text([found, found]) + ending(plan, [found])
    assert shown.replace("\n", "").isprintable()


def test_a_command_to_copy_runs_nothing_else():
    plan = Plan((Path("t.csv"),), "$(rm -rf x)`;", table=TableOptions(drop=("a b",)), group="g'h")
    (line,) = [line for line in ending(plan, [result()]).splitlines() if " fit " in line]
    assert "--target '$(rm -rf x)`;'" in line
    assert """--drop 'a b' --drop 'g'"'"'h'""" in line
    assert "--method dank --tune --drop" in line
    assert plan.command.startswith("pliant compare t.csv --target '$(rm -rf x)`;' --drop 'a b'")


TIMES = {
    "90s": 90,
    "10m": 600,
    "1h": 3600,
    "1h30m": 5400,
    " 1.5H ": 5400,
    "none": None,
    "None": None,
}


@pytest.mark.parametrize("text", TIMES)
def test_times(text):
    assert duration(text) == TIMES[text]
