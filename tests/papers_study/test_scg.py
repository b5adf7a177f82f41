"""The studies of the SCG paper, on made-up sets of toy size that carry the real names."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.linalg
from scipy.stats import wilcoxon
from sklearn.decomposition import KernelPCA

from papers import runner, studies
from papers.contestants.embeddings import (
    DIMENSIONS,
    AllFeatures,
    Discriminants,
    Eigenmaps,
    Embedded,
    KernelFisher,
    KernelPrincipalComponents,
    NeighbourhoodComponents,
    PrincipalComponents,
    centred,
    fisher,
    spectrum,
    variant,
)
from papers.contestants.learned_kernels import (
    Divided,
    GaussianKernel,
    LabelledBlock,
    LargeSCGLogDet,
    LogDet,
    OrderSpectral,
    SCGLogDet,
    accuracies,
)
from papers.data import paper_sets, printed, read
from papers.results import Results
from papers.runner import Cache, complete, document
from papers.sample import Sample, draw, typical_gamma
from papers.studies.scg import EXTENSION_P_VALUE, REPORTED, paired, paper_means, standing
from papers.study import MEASURED, Contestant, Entry, Run, perform
from pliant import SCGLogDetPath, SideInformation
from pliant.comparison import (
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
    wilcoxon_test,
)
from pliant.kernels import Gaussian
from tests.papers_study import made_up

SETS = paper_sets("scg")
STUDIES = [study for study in studies.STUDIES.values() if study.group == "scg"]
TABLE_3, TABLE_4, TABLE_5, EMBEDDING = STUDIES
TRANSDUCTIVE = Divided(unlabelled=0.3, test=0.0, folds=3)
HALVES = Divided(unlabelled=0.0, test=0.5, folds=3)
WIDTHS = (-2, 0)
MACHINES = (
    GaussianKernel(WIDTHS),
    SCGLogDet(powers=WIDTHS, strengths=(0.1, 10.0)),
    SCGLogDet("labeled", joint=False, powers=WIDTHS, strengths=(1.0,), name="labelled"),
    LargeSCGLogDet(powers=WIDTHS, strengths=(1.0, 100.0), name="large"),
    OrderSpectral(),
    OrderSpectral("scg", drop_null=True, name="scg-osk"),
    LogDet(slacks=(1.0,), max_pairs=50, powers=WIDTHS),
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

    def measure(self, sample, protocol, repeat, needed):
        share = (len(self.name) + (protocol.first_seed + repeat) % 3) / 40
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
    labelled = np.sort(order[:labelled])
    return Sample("Wine", "classification", X[:n], y[:n], X[n:], y[n:], labelled)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    tables = {}
    for seed, chosen in enumerate(SETS.values()):
        if chosen.file:
            n = 60 if chosen.labels is None else chosen.labels + 30
            X, y = points(n, 3, seed)
            tables[chosen.file] = (X, y % 2)
    return made_up.write_sets(tmp_path_factory.mktemp("sets"), tables)


def run(study, folder, out, *more):
    return made_up.run(study, folder, out, *more)


def table_of(name, folder):
    return read(SETS[name], str(folder))


def test_the_paper_is_transcribed():
    small, extension, large = (printed(f"scg-table-{k}") for k in (3, 4, 5))
    assert [len(cells) for cells in (small, extension, large)] == [10, 10, 6]
    assert {len(row["accuracy"]) for row in small.values()} == {8}
    assert {len(row["accuracy"]) for row in large.values()} == {6}
    breast = {quantity: cells.get("LDK") for quantity, cells in small["Breast"].items()}
    assert breast == {"accuracy": "96.6±1.6", "seconds": "252.14"}
    assert small["Wine"]["accuracy"]["Gaussian"] == "95.7±2.0"
    assert "Gaussian" not in small["Wine"]["seconds"]
    assert large["Adult-a6a"]["accuracy"]["IR-Gaussian"] == "80.7±0.7"
    assert large["Adult-a6a"]["seconds"]["IR-Gaussian"] == "4575.80"
    averages = paper_means("scg-table-4").mean(axis=0)
    np.testing.assert_allclose(averages, [83.3, 83.7], atol=0.05)


def test_the_ranks_that_the_paper_prints_follow_from_its_accuracies():
    small = [5.35, 4.25, 5.20, 3.50, 6.10, 3.45, 6.20, 1.95]
    np.testing.assert_allclose(average_ranks(paper_means("scg-table-3")), small, atol=1e-9)
    large = [5.50, 3.00, 4.17, 2.00, 5.33, 1.00]
    np.testing.assert_allclose(average_ranks(paper_means("scg-table-5")), large, atol=5e-3)


@pytest.mark.parametrize("study", REPORTED)
def test_the_tests_that_the_paper_prints_follow_from_its_accuracies(study):
    table, reported = paper_means(study), REPORTED[study]
    found = friedman_test(table)
    assert found.statistic == pytest.approx(reported["F"], abs=5e-3)
    assert found.critical_value() == pytest.approx(reported["critical F"], abs=5e-3)
    critical = nemenyi_critical_difference(table.shape[1], len(table))
    assert critical == pytest.approx(reported["critical difference"], abs=5e-3)


def test_the_wilcoxon_test_that_the_paper_prints_is_only_nearly_what_its_accuracies_give():
    first, second = paper_means("scg-table-4").T
    assert wilcoxon(first, second).pvalue == pytest.approx(0.6758, abs=5e-5)
    assert wilcoxon_test(first, second).p_value == pytest.approx(0.6758, abs=5e-5)
    assert EXTENSION_P_VALUE == 0.6785


def test_the_studies_hold_what_was_asked_for():
    assert [len(study.sets) for study in STUDIES] == [9, 9, 6, 2]
    assert [study.repeats for study in STUDIES] == [20, 20, 10, 5]
    assert all(set(e.sets) <= set(s.sets) <= set(SETS) for s in STUDIES for e in s.entries)
    assert set(TABLE_3.sets) == set(printed("scg-table-3")) - {"Protein"} == set(TABLE_4.sets)
    assert set(TABLE_5.sets) == set(printed("scg-table-5"))
    for study in STUDIES:
        names = [each.name for each in study.contestants]
        assert len(set(names)) == len(names)


def test_points_are_divided_with_all_classes_in_proportion(folder):
    table = table_of("Wine", folder)
    first, again, other = (
        Divided(0.3, 0.3).divide("Wine", SETS["Wine"], table, repeat) for repeat in (0, 0, 1)
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
    table = table_of("Adult-a2a", folder)
    sample = TABLE_5.protocol.divide("Adult-a2a", SETS["Adult-a2a"], table, 0)
    assert (len(sample.labelled), len(sample.unlabelled), len(sample.y_test)) == (400, 30, 0)
    np.testing.assert_array_equal(sample.X, table.X)


def test_some_rows_of_each_class_are_drawn(folder):
    table = table_of("usps", folder)
    few = draw(table, 7, 0)
    np.testing.assert_array_equal(np.unique(few.y, return_counts=True)[1], [7, 7])
    assert not np.array_equal(few.X, draw(table, 7, 1).X)
    assert len(draw(table, 400, 0).y) == 60
    assert draw(table, None, 0) is table


def test_folds_hide_every_label_once():
    sample = sample_of()
    folds = sample.labelled_folds(3, 0)
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
    folds = sample.labelled_folds(3, 0)
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
    measured = contestant.measure(sample, TRANSDUCTIVE, 0, None)[MEASURED]
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
    for setting, learned in contestant.candidates(sample, TRANSDUCTIVE, 0):
        kernel = contestant.learn(sample, setting, 0)
        labelled = sample.X[sample.labelled]
        gram = learned(sample.labelled)
        np.testing.assert_allclose(gram, kernel(labelled), atol=1e-9 * np.abs(gram).max())


@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("beta", [1.0, 3.0])
def test_the_labelled_block_is_that_of_the_whole_kernel(gamma, beta):
    sample = sample_of(labelled=40)
    gram = Gaussian(0.05)(sample.X)
    rows, _ = sample.labelled_folds(4, 0)[0]
    partial = sample.partial(rows)
    block = LabelledBlock.of(gram, sample.labelled, gamma)
    whole = SCGLogDetPath(gram).gram(
        SideInformation.from_labels(partial, unlabeled=-1),
        gamma,
        beta=beta,
        graph="complete",
        scale_strength=False,
        columns=sample.labelled,
    )[sample.labelled]
    np.testing.assert_allclose(block.gram(partial[sample.labelled], beta), whole, atol=1e-12)


@pytest.mark.parametrize("contestant", PEERS, ids=lambda c: c.name)
def test_every_embedding_is_judged_by_points_it_did_not_see(contestant):
    sample = sample_of(labelled=90, test=40)
    found = contestant.measure(sample, HALVES, 0, None)
    assert list(found) == ["2-D", "9-D"]
    assert all(0.0 <= each["test"] <= 1.0 for each in found.values())
    assert found["9-D"]["test"] > 1 / 11
    json.dumps(found)
    assert contestant.words()
    blind = replace(sample, y_test=np.zeros_like(sample.y_test))
    other = contestant.measure(blind, HALVES, 0, None)
    for each in found:
        assert found[each]["validation"] == other[each]["validation"]


def test_all_features_are_not_ranked(folder, tmp_path):
    sample = sample_of(labelled=90, test=40)
    found = AllFeatures().measure(sample, HALVES, 0, None)
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
    found = made_up.records(values, lambda value: {MEASURED: {part: value}}, n_train=70, n_test=30)
    return Results(document(study, list(next(iter(values.values()))), 3, found))


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
    np.testing.assert_allclose(
        results.shared("Wine", ["scg-ldk", "gaussian"], "unlabelled"), [[90], [80]]
    )
    np.testing.assert_allclose(results.means(["scg-ldk", "gaussian"], "unlabelled"), [[90, 80]])
    np.testing.assert_allclose(results.means(["gaussian"], "unlabelled"), [[75]])


def test_table_3_shows_paper_and_measured(folder, tmp_path):
    study = quick(TABLE_3)
    text, found = run(study, folder, tmp_path, "--keep", "--results", str(tmp_path / "kept"))
    assert (tmp_path / "kept" / "scg-table-3.md").read_text(encoding="utf-8") == text
    wine = next(line for line in text.splitlines() if line.startswith("| Wine"))
    assert "| 96.7±1.9 / 10.0±2.5 " in wine
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
    done = []

    def counted(run, *more):
        done.append((run.repeat, run.set))
        return perform(run, *more)

    monkeypatch.setattr(runner, "perform", counted)
    entries = (Entry(Quick(), ("Wine", "Iris"), (("Iris", 1),)),)
    study = replace(TABLE_3, entries=entries, protocol=TRANSDUCTIVE)
    path = tmp_path / "cache.jsonl"
    first = complete(study, ("Wine", "Iris"), 2, Cache(path), str(folder))
    assert done == [(0, "Wine"), (0, "Iris"), (1, "Wine")]
    assert complete(study, ("Wine", "Iris"), 2, Cache(path), str(folder)) == first
    assert len(done) == 3
    other = replace(study, protocol=HALVES)
    complete(other, ("Wine", "Iris"), 2, Cache(path), str(folder))
    assert len(done) == 6


def test_a_record_counts_its_points(folder):
    run = Run("scg-ldk", "Wine", 0)
    found = perform(run, Quick(), TRANSDUCTIVE, SETS["Wine"], str(folder))
    assert (found["n_train"], found["n_test"], found["d"]) == (42, 18, 3)
