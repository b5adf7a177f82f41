"""The numbers in sentences are those of stored records and constants."""

import json
import re

import pytest

claims = pytest.importorskip("benchmarks.claims", reason="benchmarks/ is not here")

PAGES = claims.pages()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_numbers_of_its_records(page):
    assert claims.without_phrase(page) == []


@pytest.mark.parametrize("page", PAGES)
def test_all_numbers_of_a_page_have_a_source(page):
    missing, _ = claims.without_source(page)
    assert missing == []


def test_phrases_without_a_source_state_no_times_and_are_no_bare_numbers():
    stated = [text for each in claims.contents().values() for text in each.get("stated", [])]
    assert len(stated) > 100
    assert [text for text in stated if re.search(r"\d [mn]?s\b", text)] == []
    assert [text for text in stated if not re.search("[A-Za-z]", text)] == []


def test_records_of_small_tables_have_command_computer_and_date():
    folder = claims.FILE.parent
    records = json.loads((folder / "records.json").read_text("utf-8"))
    assert set(records) == {path.stem for path in folder.glob("*.csv")}
    for name, record in records.items():
        assert record["command"] == f"python -m benchmarks numbers {name}"
        assert record["machine"]["packages"]["pliant"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", record["date"])


def test_a_wrong_number_and_a_number_without_source_are_found(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("Of 20 tables, three took 0.5 s; `n = 7` and 41 others.")
    (tmp_path / "table.md").write_text("# Head\n\n| a | b |\n| - | -: |\n| x | 0.52 |\n| y | 3 |\n")
    (tmp_path / "claims.toml").write_text(
        '["page.md"]\nstated = ["Of 20 tables"]\n'
        '[["page.md".phrases]]\ntext = "{few} took {s} s"\nfile = "table.md"\n'
        'few = ["Head > y", "b", "word"]\ns = ["<row>", "b", ".1f"]\neach = [{ row = "x" }]\n'
    )
    monkeypatch.setattr(claims, "ROOT", tmp_path)
    monkeypatch.setattr(claims, "FILE", tmp_path / "claims.toml")
    monkeypatch.setattr(claims, "contents", claims.contents.__wrapped__)
    first, _ = claims.claims("page.md")
    assert claims.phrase(first) == "three took .5 s"
    missing, total = claims.without_source("page.md")
    assert (len(missing), total) == (1, 4)
    assert "41 others" in missing[0]
    (tmp_path / "claims.toml").write_text('["page.md"]\nstated = ["Of 2"]\n')
    assert len(claims.without_source("page.md")[0]) == 4  # a part of a number is no number
    with pytest.raises(KeyError, match="expected one row 'z'"):
        claims.cell("table.md", "z", "b")


def test_the_sources_of_a_page_have_date_and_command(capsys):
    assert claims.main(["README.md"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"of \d+ numbers, \d+ are read and \d+ stated", out)
    assert re.search(r"docs/numbers/example.csv, mean, LAB-RBF; 20\d\d-.* numbers example", out)
    assert re.search(r"results/tables.md, ## Regression > CatBoost, its lead; 20\d\d.* fresh", out)


def test_a_wrong_number_is_told_with_the_right_phrase(tmp_path, monkeypatch, capsys):
    text = (claims.ROOT / "docs" / "sparse.rst").read_text("utf-8")
    monkeypatch.setattr(claims, "without_source", lambda page: ([], 7))
    monkeypatch.setattr(claims, "without_phrase", lambda page: ["took .5 s"])
    assert "took .5 s" not in text
    assert claims.main(["docs/sparse.rst"]) == 1
    assert "expected, not found: took .5 s" in capsys.readouterr().out
    assert claims.main(["absent.md"]) == 2
    assert "got 'absent.md'" in capsys.readouterr().err
