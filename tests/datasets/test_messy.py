"""The messy table has its documented separators, dates, missing values, id, constant and code."""

import re

from pliant.datasets import write_rentals


def columns(path):
    header, *rows = (line.split(";") for line in path.read_text("utf-8").splitlines())
    return dict(zip(header, zip(*rows, strict=True), strict=True))


def test_the_table_is_untidy_in_every_way_and_the_same_for_a_seed(tmp_path):
    table = columns(write_rentals(tmp_path / "a.csv", random_state=0))
    assert len(set(table["rental_id"])) == 600
    assert set(table["currency"]) == {"EUR"}
    assert len(set(table["area_code"])) == len(set(table["station"])) == 8
    assert all(re.fullmatch(r"\d\d\.\d\d\.202[345]", date) for date in table["date"])
    assert 0.02 < table["temperature"].count("") / 600 < 0.08
    assert 0.02 < table["weather"].count("") / 600 < 0.08
    assert all(re.fullmatch(r"(\d\.)?\d+,\d\d", value) for value in table["revenue"])
    assert any("." in value for value in table["revenue"])
    assert table == columns(write_rentals(tmp_path / "b.csv", random_state=0))
