"""Methods that learn a kernel from labels and then an SVM, on the command line."""

import json
import re
from pathlib import Path

import pytest

from pliant.persistence import load

OF_PARTS = ("alignment", "eigenvectors", "parts of the graph")
FACTS = {
    "scg-ldk": ("strength", "kernel objective"),
    "scg-osk": OF_PARTS,
    "osk": OF_PARTS,
    "ldk": ("pairs", "distances", "kernel gap"),
}
"""Facts about each learner in the report."""


def fit(target, *words):
    others = [name for name in ("sick", "grade", "amount") if name != target]
    drops = [word for name in others for word in ("--drop", name)]
    return ("fit", "patients.csv", "--target", target, "--cv", 2, *drops, *words)


@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("target", ["sick", "grade"])
def test_fit_predict_and_info(pliant, folder, name, target):
    done = pliant(*fit(target, "--method", name, "--out", "m.pliant"))
    assert done.code == 0, done
    assert done.out.startswith(
        f"{name}: classification of '{target}', 60 rows, 3 columns (4 features)"
    )
    assert all(f"\n{fact} " in done.out for fact in ("kernel from", *FACTS[name]))
    assert " 60 rows\n" in done.out
    told = pliant("info", "m.pliant").out
    assert re.match(f"method +{name}: ", told)
    assert re.search("^kernel from +60 rows$", told, re.MULTILINE)
    assert "machine__C=1" in told
    predicted = pliant("predict", "m.pliant", "patients.csv", "--decision")
    assert predicted.code == 0
    assert len(predicted.out.splitlines()) == 61


def test_parameters_of_the_parts(pliant, folder):
    words = ("--param", "learner__strength=3", "--param", "machine__C=7", "--json", "r.json")
    assert pliant(*fit("sick", "--method", "scg-ldk", "--out", "m.pliant", *words)).code == 0
    machine = load("m.pliant")[-1]
    assert (machine.learner_.strength, machine.machine_.C, machine.random_state) == (3, 7, 0)
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert found["parameters"]["learner__strength"] == 3
    assert found["fit"]["kernel"]["strength"] == 3.0
    assert found["fit"]["kernel"]["labelled"] == 60
    assert "learner" not in found["parameters"]


def test_rows_of_unknown_class_take_part_but_are_not_scored(pliant, folder):
    lines = Path("patients.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    for row in cells[1::3]:
        row[3] = "unknown"
    Path("patients.csv").write_text("\n".join(map(",".join, cells)), encoding="utf-8")
    words = ("--param", "unlabeled=unknown", "--out", "m.pliant")
    done = pliant(*fit("sick", "--method", "osk", *words))
    assert done.code == 0, done
    assert "60 rows, 3 columns (4 features), 2 classes" in done.out
    assert "60 rows, 40 of them labelled" in done.out
    assert float(done.out.split("accuracy")[1].split()[0]) > 0.7
    assert "'no', 'yes'" in pliant("info", "m.pliant").out
    assert "unknown" not in pliant("predict", "m.pliant", "patients.csv").out


def test_a_mark_of_unknown_class_may_be_a_word_for_a_missing_number(pliant, folder):
    lines = Path("patients.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    for k, row in enumerate(cells[1:]):
        row[3] = "?" if k % 3 == 0 else f"{row[3] == 'yes':d}"
    Path("patients.csv").write_text("\n".join(map(",".join, cells)), encoding="utf-8")
    done = pliant(*fit("sick", "--method", "osk", "--param", "unlabeled=?"))
    assert done.code == 0, done
    assert "60 rows, 40 of them labelled" in done.out


REFUSED = {
    "strength=3": "has no parameter 'strength'; did you mean 'learner__strength'?",
    "machine__kernel=gaussian": "expected machine to take kernel values",
    "unlabeled=perhaps": "column 'sick' never contains 'perhaps'",
}


@pytest.mark.parametrize("word", REFUSED)
def test_what_is_refused(refused, folder, word):
    assert REFUSED[word] in refused(*fit("sick", "--method", "scg-ldk", "--param", word))
