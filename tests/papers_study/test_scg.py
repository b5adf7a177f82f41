"""The studies of the SCG paper, on made-up sets of toy size that carry the real names."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.linalg
from papers.document import document
from papers.side_information import measuring
from papers.side_information.blocks import LabelledBlock
from papers.side_information.bounds import LogDetMachine
from papers.side_information.contestant import MEASURED, Contestant
from papers.side_information.embedded import Embedded
from papers.side_information.kernels import (
    Eigenmaps,
    KernelFisher,
    KernelPrincipalComponents,
    centred,
    fisher,
    spectrum,
)
from papers.side_information.learned import GaussianMachine
from papers.side_information.linear import (
    AllFeatures,
    Discriminants,
    NeighbourhoodComponents,
    PrincipalComponents,
)
from papers.side_information.logdet import LargeSCGLogDetMachine, SCGLogDetMachine
from papers.side_information.machine import accuracies
from papers.side_information.measuring import Entry
from papers.side_information.peer import DIMENSIONS, variant
from papers.side_information.printed import (
    EXTENSION,
    EXTENSION_P_VALUE,
    LARGE,
    LARGE_STANDING,
    SMALL,
    SMALL_STANDING,
    cell,
    means,
    printed_mean,
    printed_p_value,
)
from papers.side_information.protocol import (
    SideProtocol,
    SideSample,
    divide,
    typical_gamma,
)
from papers.side_information.results import Results
from papers.side_information.sets import SETS, draw, read
from papers.side_information.spectral import OrderSpectralMachine
from papers.side_information.standing import paired, standing
from papers.side_information.studies import (
    EMBEDDING,
    STUDIES,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    Held,
)
from scipy.stats import wilcoxon
from sklearn.decomposition import KernelPCA

from papers import __main__ as command_line
from papers.study import Run
from pliant import SCGLogDetPath, SideInformation
from pliant.comparison import average_ranks, friedman_test, nemenyi_critical_difference
from pliant.kernels import Gaussian

TRANSDUCTIVE = SideProtocol(unlabelled=0.3, test=0.0, folds=3)
HALVES = SideProtocol(unlabelled=0.0, test=0.5, folds=3)
WIDTHS = (-2, 0)
MACHINES = (
    GaussianMachine(WIDTHS),
    SCGLogDetMachine(powers=WIDTHS, strengths=(0.1, 10.0)),
    SCGLogDetMachine("labeled", joint=False, powers=WIDTHS, strengths=(1.0,), name="labelled"),
    LargeSCGLogDetMachine(powers=WIDTHS, strengths=(1.0, 100.0), name="large"),
    OrderSpectralMachine(),
    OrderSpectralMachine("scg", drop_null=True, name="scg-osk"),
    LogDetMachine(slacks=(1.0,), max_pairs=50, powers=WIDTHS),
)
PEERS = (
    PrincipalComponents(),
    KernelPrincipalComponents(powers=WIDTHS),
    Discriminants(shrinkages=(0.1, 0.5)),
    NeighbourhoodComponents(starts=("pca",), rounds=(3,)),
    KernelFisher(powers=WIDTHS, ridges=(1e-3, 1e-1)),
    Eigenmaps(neighbours=(5, 10)),
    Embedded(kernel="gaussian"),
)


@dataclass(frozen=True)
class Quick(Contestant):
    """Right as often as its name is long, under the name of a real contestant."""

    name: str = "scg-ldk"
    title: str = "Quick"

    def measure(self, sample, protocol, seed):
        share = (len(self.name) + seed % 3) / 40
        found = {"strength": 0.1, "unlabelled": share, "test": share / 2, "kernel_seconds": 0.25}
        found["kernel"] = "graph"
        return dict.fromkeys((MEASURED, *map(variant, DIMENSIONS)), found)

    def words(self):
        return "quick"


def quick(study):
    """The study with quick contestants under the same names."""
    entries = tuple(
        replace(entry, contestant=Quick(entry.contestant.name, entry.contestant.title))
        for entry in study.entries
    )
    return replace(study, entries=entries)


def points(n=90, d=11, seed=0):
    """Eleven classes in rings: enough for nine discriminants."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 11
    return rng.normal(size=(n, d)) + 3.0 * np.eye(11, d)[y], y


def sample_of(n=90, labelled=60, test=0):
    X, y = points(n + test)
    order = np.random.default_rng(1).permutation(n)
    return SideSample("Wine", X[:n], y[:n], np.sort(order[:labelled]), X[n:], y[n:])


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    for seed, chosen in enumerate(SETS.values()):
        if chosen.file is None:
            continue
        n = 60 if chosen.labels is None else chosen.labels + 30
        X, y = points(n, 3, seed)
        lines = [",".join(map(repr, row)) for row in np.column_stack([X, y % 2]).tolist()]
        with gzip.open(path / f"{chosen.file}.csv.gz", "wt") as target:
            target.write("\n".join(["a,b,c,target", *lines]) + "\n")
    return path


def run(study, folder, out, *more):
    studies = {study.name: study}
    arguments = [study.name, "--data", str(folder), "--out", str(out), "--repeats", "3", *more]
    assert command_line.main(arguments, side_studies=studies) == 0
    text = (out / f"{study.name}.md").read_text(encoding="utf-8")
    return text, json.loads((out / f"{study.name}.json").read_text(encoding="utf-8"))


def test_the_paper_is_transcribed():
    assert [len(cells) for cells in (SMALL, EXTENSION, LARGE)] == [10, 10, 6]
    assert {len(row) for row in SMALL.values()} == {8}
    assert {len(row) for row in LARGE.values()} == {6}
    assert cell(SMALL["Breast"]["LDK"]) == ("96.6±1.6", "252.14")
    assert cell(SMALL["Wine"]["Gaussian"]) == ("95.7±2.0", "")
    assert cell(LARGE["Adult-a6a"]["IR-Gaussian"]) == ("80.7±0.7", "4575.80")
    averages = [np.mean([printed_mean(row[part]) for row in EXTENSION.values()])
                for part in ("unlabelled", "test")]  # fmt: skip
    np.testing.assert_allclose(averages, [83.3, 83.7], atol=0.05)


def test_the_ranks_that_the_paper_prints_follow_from_its_accuracies():
    small = [5.35, 4.25, 5.20, 3.50, 6.10, 3.45, 6.20, 1.95]
    np.testing.assert_allclose(average_ranks(means(SMALL)), small, atol=1e-9)
    np.testing.assert_allclose(
        average_ranks(means(LARGE)), [5.50, 3.00, 4.17, 2.00, 5.33, 1.00], atol=5e-3
    )


@pytest.mark.parametrize(("cells", "said"), [(SMALL, SMALL_STANDING), (LARGE, LARGE_STANDING)])
def test_the_tests_that_the_paper_prints_follow_from_its_accuracies(cells, said):
    table = means(cells)
    found = friedman_test(table)
    assert found.statistic == pytest.approx(said["F"], abs=5e-3)
    assert found.critical_value() == pytest.approx(said["critical F"], abs=5e-3)
    critical = nemenyi_critical_difference(table.shape[1], len(table))
    assert critical == pytest.approx(said["critical difference"], abs=5e-3)


def test_the_wilcoxon_test_that_the_paper_prints_is_only_nearly_what_its_accuracies_give():
    first, second = means(EXTENSION).T
    assert wilcoxon(first, second).pvalue == pytest.approx(0.6758, abs=5e-5)
    assert printed_p_value() == pytest.approx(0.6758, abs=5e-5)
    assert EXTENSION_P_VALUE == 0.6785


def test_the_studies_hold_what_was_asked_for():
    assert [len(study.sets) for study in STUDIES.values()] == [9, 9, 6, 2]
    assert [study.repeats for study in STUDIES.values()] == [20, 20, 10, 5]
    assert all(set(e.sets) <= set(s.sets) <= set(SETS) for s in STUDIES.values() for e in s.entries)
    assert set(TABLE_3.sets) == set(SMALL) - {"Protein"} == set(TABLE_4.sets)
    assert set(TABLE_5.sets) == set(LARGE)
    for study in STUDIES.values():
        names = [each.name for each in study.contestants]
        assert len(set(names)) == len(names)


def test_points_are_divided_with_all_classes_in_proportion(folder):
    table = read("Wine", str(folder))
    first, again, other = (
        divide("Wine", table, SideProtocol(0.3, 0.3), repeat) for repeat in (0, 0, 1)
    )
    assert (len(first.labelled), len(first.unlabelled), len(first.y_test)) == (24, 18, 18)
    share = np.mean(table.y)
    for part in (first.y[first.labelled], first.y[first.unlabelled], first.y_test):
        assert abs(part.sum() - share * len(part)) < 1.0
    np.testing.assert_allclose(first.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(first.X.std(axis=0), 1.0)
    np.testing.assert_array_equal(first.X_test, again.X_test)
    assert not np.array_equal(first.X_test, other.X_test)


def test_adult_has_a_number_of_labels_and_its_own_units(folder):
    table = read("Adult-a2a", str(folder))
    sample = divide("Adult-a2a", table, TABLE_5.protocol, 0)
    assert (len(sample.labelled), len(sample.unlabelled), len(sample.y_test)) == (400, 30, 0)
    np.testing.assert_array_equal(sample.X, table.X)


def test_some_rows_of_each_class_are_drawn(folder):
    table = read("usps", str(folder))
    few = draw(table, 7, 0)
    np.testing.assert_array_equal(np.unique(few.y, return_counts=True)[1], [7, 7])
    assert not np.array_equal(few.X, draw(table, 7, 1).X)
    assert len(draw(table, 400, 0).y) == 60
    assert draw(table, None, 0) is table


def test_folds_hide_every_label_once():
    sample = sample_of()
    folds = sample.folds(3, 0)
    judged = np.concatenate([held for _, held in folds])
    np.testing.assert_array_equal(np.sort(judged), sample.labelled)
    for rows, held in folds:
        known = sample.partial(rows)
        assert (known[rows] == sample.y[rows]).all()
        assert (np.delete(known, rows) == -1).all()
        assert set(sample.y[rows]) == set(range(11))
        np.testing.assert_array_equal(np.union1d(rows, held), sample.labelled)


def test_a_kernel_is_learned_again_in_every_fold():
    sample = sample_of()
    folds = sample.folds(3, 0)
    seen = []

    def learn(rows):
        seen.append(rows)
        return Gaussian(0.1)(sample.X[sample.labelled])

    found = accuracies(sample, folds, learn, (1.0, 100.0))
    assert found.shape == (2,)
    assert (found > 0.5).all()
    for rows, (known, _) in zip(seen, folds, strict=True):
        np.testing.assert_array_equal(rows, known)


@pytest.mark.parametrize("contestant", MACHINES, ids=lambda c: c.name)
def test_every_machine_is_measured(contestant):
    sample = sample_of(test=20)
    measured = contestant.measure(sample, TRANSDUCTIVE, 0)[MEASURED]
    assert 0.0 <= measured["unlabelled"] <= 1.0
    assert 0.0 <= measured["test"] <= 1.0
    assert measured["kernel_seconds"] >= 0.0
    assert measured["C"] in (0.1, 1.0, 10.0, 100.0, 1000.0)
    json.dumps(measured)
    assert contestant.words()


@pytest.mark.parametrize("contestant", MACHINES, ids=lambda c: c.name)
def test_hidden_labels_and_later_points_are_not_looked_at(contestant):
    sample = sample_of(test=20)
    y = sample.y.copy()
    y[sample.unlabelled] = 0
    blind = replace(sample, y=y, X_test=np.full_like(sample.X_test, np.nan))
    assert contestant.choose(sample, TRANSDUCTIVE, 0) == contestant.choose(blind, TRANSDUCTIVE, 0)


@pytest.mark.parametrize("contestant", MACHINES[:-1], ids=lambda c: c.name)
def test_what_is_cross_validated_is_what_is_learned_in_the_end(contestant):
    sample = sample_of()
    folds = sample.folds(3, 0)
    for setting, learned in contestant.candidates(sample, folds, TRANSDUCTIVE, 0):
        kernel = contestant.learn(sample, setting, 0)
        labelled = sample.X[sample.labelled]
        gram = learned(sample.labelled)
        np.testing.assert_allclose(gram, kernel(labelled), atol=1e-9 * np.abs(gram).max())


@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("beta", [1.0, 3.0])
def test_the_labelled_block_is_that_of_the_whole_kernel(gamma, beta):
    sample = sample_of(labelled=40)
    gram = Gaussian(0.05)(sample.X)
    rows, _ = sample.folds(4, 0)[0]
    partial = sample.partial(rows)
    block = LabelledBlock.of(gram, sample.labelled, gamma)
    whole = SCGLogDetPath(gram).gram(
        SideInformation.from_labels(partial, unlabeled=-1),
        gamma,
        beta=beta,
        graph="complete",
        scale_strength=False,
        rows=sample.labelled,
        columns=sample.labelled,
    )
    np.testing.assert_allclose(block.gram(partial[sample.labelled], beta), whole, atol=1e-12)


@pytest.mark.parametrize("contestant", PEERS, ids=lambda c: c.name)
def test_every_embedding_is_judged_by_points_it_did_not_see(contestant):
    sample = sample_of(labelled=90, test=40)
    found = contestant.measure(sample, HALVES, 0)
    assert list(found) == ["2-D", "9-D"]
    assert all(0.0 <= each["test"] <= 1.0 for each in found.values())
    assert found["9-D"]["test"] > 1 / 11
    json.dumps(found)
    assert contestant.words()
    blind = replace(sample, y_test=np.zeros_like(sample.y_test))
    other = contestant.measure(blind, HALVES, 0)
    for each in found:
        assert found[each]["validation"] == other[each]["validation"]


def test_all_features_are_not_ranked(folder, tmp_path):
    sample = sample_of(labelled=90, test=40)
    found = AllFeatures().measure(sample, HALVES, 0)
    assert found["2-D"]["test"] == found["9-D"]["test"] > 1 / 11
    text, _ = run(quick(EMBEDDING), folder, tmp_path)
    rows = [line for line in text.splitlines() if "| All features" in line]
    assert rows[0].rstrip("| ").endswith("–")


def test_kernel_principal_components_are_scikit_learns():
    sample = sample_of(test=20)
    (ours,) = KernelPrincipalComponents().coordinates(
        sample.X, sample.y, sample.X_test, [{"power": 0}], 3
    )
    theirs = KernelPCA(3, kernel="rbf", gamma=typical_gamma(sample.X)).fit(sample.X)
    for found, points in zip(ours, (sample.X, sample.X_test), strict=True):
        np.testing.assert_allclose(np.abs(found), np.abs(theirs.transform(points)), atol=1e-9)


def test_kernel_fisher_solves_its_eigenproblem():
    sample, ridge = sample_of(), 1e-2
    gram, _ = centred(sample.X, sample.X[:1], 0.05)
    values, vectors = spectrum(gram)
    F = vectors * np.sqrt(values)
    W = fisher(F, values, sample.y, ridge, 4)
    means = np.array([F[sample.y == k].mean(axis=0) for k in range(11)])[sample.y]
    within = (F - means).T @ (F - means) / len(F) + ridge * np.eye(F.shape[1])
    between = means.T @ means / len(F)
    expected = scipy.linalg.eigh(between, within)[1][:, ::-1][:, :4]
    np.testing.assert_allclose(np.abs(F @ W), np.abs(F @ expected), atol=1e-7)
    np.testing.assert_allclose(W.T @ within @ W, np.eye(4), atol=1e-7)


def test_eigenmaps_average_over_neighbours():
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    between = np.column_stack([np.cos(angles + np.pi / 24), np.sin(angles + np.pi / 24)])
    ((f, new),) = Eigenmaps().coordinates(ring, angles, between, [{"neighbours": 2}], 2)
    np.testing.assert_allclose(f.mean(axis=0), 0.0, atol=1e-9)
    mean = (np.roll(f, 1, axis=0) + np.roll(f, -1, axis=0)) / 2.0
    np.testing.assert_allclose(mean, np.cos(2 * np.pi / 24) * f, atol=1e-9)
    expected = (f + np.roll(f, -1, axis=0)) / 2.0 / np.cos(2 * np.pi / 24)
    np.testing.assert_allclose(new, expected, atol=1e-9)


def results_of(values, study=TABLE_3, part="unlabelled"):
    """Results of made-up numbers, by contestant, set and repeat."""
    records = [
        {"contestant": who, "set": name, "repeat": repeat, "task": "classification", "d": 2}
        | {"n_train": 70, "n_test": 30, "seconds": 1.0, "unconverged": 0}
        | {"variants": {MEASURED: {part: value}}}
        for who, sets in values.items()
        for name, found in sets.items()
        for repeat, value in enumerate(found)
    ]
    sets = list(next(iter(values.values())))
    held = Held(study.protocol, study.contestants)
    return Results(document(study.name, sets, 3, held, records))


def test_ranks_are_of_the_mean_accuracies():
    results = results_of(
        {
            "scg-ldk": {"Wine": [0.9, 1.0], "Iris": [0.8, 0.8], "Sonar": [0.9, 0.9]},
            "gaussian": {"Wine": [0.9, 0.8], "Iris": [0.7, 0.9], "Sonar": [0.8, 0.8]},
        }
    )
    assert "average ranks SCG-LDK 1.17, Gaussian 1.83" in standing(results, ["gaussian", "scg-ldk"])
    row = paired(results, "scg-ldk", ["gaussian"]).splitlines()[-1]
    assert [each.strip() for each in row.strip("|").split("|")] == [
        "Gaussian", "6.67", "2–1–0", "4–1–1", "0.5000", "0"
    ]  # fmt: skip


def test_one_set_has_no_ranks():
    results = results_of({"scg-ldk": {"Wine": [0.9]}, "gaussian": {"Wine": [0.8]}})
    assert standing(results, ["gaussian", "scg-ldk"]) == ""


def test_means_are_compared_on_common_repeats():
    results = results_of({"scg-ldk": {"Wine": [0.9]}, "gaussian": {"Wine": [0.8, 0.7]}})
    np.testing.assert_allclose(results.shared("Wine", ["scg-ldk", "gaussian"]), [[90], [80]])
    np.testing.assert_allclose(results.means(["scg-ldk", "gaussian"]), [[90, 80]])
    np.testing.assert_allclose(results.means(["gaussian"]), [[75]])


def test_table_3_shows_paper_and_measured(folder, tmp_path):
    study = quick(TABLE_3)
    text, found = run(study, folder, tmp_path, "--keep", "--results", str(tmp_path / "kept"))
    assert (tmp_path / "kept" / "scg-table-3.md").read_text(encoding="utf-8") == text
    wine = next(line for line in text.splitlines() if line.startswith("| Wine"))
    assert "| 96.7±1.9 / later " in wine
    assert "| 96.7±1.7 / 20.0±2.5 " in wine
    protein = next(line for line in text.splitlines() if line.startswith("| Protein"))
    assert "| 75.3±7.0 / not at hand " in protein
    seconds = text.split("## Seconds")[1]
    assert "| 0.01 / 0.25 " in seconds
    assert "| – / – " in seconds
    assert "F = 5.17, critical value 2.16, critical difference of ranks 3.32" in text
    assert "From its printed accuracies: F = 5.17, critical value 2.16" in text
    assert "0.1 in 100 %" in text
    assert all(len(r["variants"][MEASURED]["unlabelled"]) == 3 for r in found["results"])
    assert str(folder) not in json.dumps(found)


def test_table_4_compares_unlabelled_and_later_points(folder, tmp_path):
    text, _ = run(quick(TABLE_4), folder, tmp_path)
    wine = next(line for line in text.splitlines() if line.startswith("| Wine"))
    assert [each.strip() for each in wine.strip("|").split("|")] == [
        "Wine", "96.0±3.7 / 20.0±2.5", "98.0±1.4 / 10.0±1.2"
    ]  # fmt: skip
    assert "| 83.3 / 20.0 " in text
    assert "the paper [0.6785, 0] (its printed means give p = 0.6758), measured [0.0039, 1]" in text
    assert "-10.00 percentage points" in text


def test_table_5_says_who_was_measured_less_often(folder, tmp_path):
    study = quick(TABLE_5)
    fewer = (("Adult-a6a", 2),)
    study = replace(study, entries=tuple(replace(e, most_repeats=fewer) for e in study.entries))
    text, _ = run(study, folder, tmp_path)
    assert "SCG-LDK on the first 2 divisions only" in text
    assert "| 81.4±1.9 / " in text
    assert "87.65" in text


def test_embeddings_are_compared_split_by_split(folder, tmp_path):
    text, found = run(quick(EMBEDDING), folder, tmp_path)
    table = text.split("## Accuracy of the nearest neighbours")[1].split("##")[0]
    assert "Laplacian eigenmaps" in table
    assert {len(r["variants"]["2-D"]["test"]) for r in found["results"]} == {3}
    gains = text.split("against the others")[1]
    row = next(line for line in gains.splitlines() if "PCA" in line)
    assert "+5.0±0.0 (3 of 3)" in row
    assert "digits, 2-D: graph 3; digits, 9-D: graph 3" in text


def test_some_sets_alone_are_measured(folder, tmp_path):
    text, _ = run(quick(TABLE_3), folder, tmp_path, "--sets", "Wine,Iris")
    assert "Not measured in this run: Sonar, Glass" in text


def test_nothing_is_measured_twice(folder, tmp_path, monkeypatch):
    measured = []
    perform = measuring.perform

    def counted(run, *more):
        measured.append((run.repeat, run.set))
        return perform(run, *more)

    monkeypatch.setattr(measuring, "perform", counted)
    entries = (Entry(Quick(), ("Wine", "Iris"), (("Iris", 1),)),)
    path = tmp_path / "cache.jsonl"
    arguments = (entries, ("Wine", "Iris"), 2, path, str(folder), TRANSDUCTIVE)
    first = measuring.complete(*arguments)
    assert measured == [(0, "Wine"), (0, "Iris"), (1, "Wine")]
    assert measuring.complete(*arguments) == first
    assert len(measured) == 3
    measuring.complete(*arguments[:-1], HALVES)
    assert len(measured) == 6


def test_a_record_counts_its_points(folder):
    found = measuring.perform(Run("scg-ldk", "Wine", 0), str(folder), TRANSDUCTIVE, Quick())
    assert (found["n_train"], found["n_test"], found["d"]) == (42, 18, 3)
