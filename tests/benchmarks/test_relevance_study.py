"""The comparison of relevance with permutation importance, on a table of toy size."""

import numpy as np
import pytest
from scipy.stats import spearmanr

pytest.importorskip("benchmarks.tables.running")

from benchmarks.tables import relevance

CPU = {"cpu": "A", "cores": 2, "system": "B", "python": "C", "packages": {"numpy": "2"}}


@pytest.mark.parametrize("classification", [False, True])
def test_a_table_with_a_clear_order(classification):
    X = np.random.default_rng(0).uniform(-1, 1, size=(160, 3))
    X[:, 2] = X[:, 0] + 0.01 * X[:, 2]
    y = 4 * X[:, 1] + X[:, 0]
    y = (y > 0).astype(int) if classification else y
    parts = X[:100], y[:100], X[100:], y[100:]
    result = relevance.compare(*parts, classification=classification, seed=0)
    assert result["same"] is True
    assert result["pairs"] == 1
    assert int(np.argmax(result["relevance"])) == int(np.argmax(result["importance"])) == 1
    ranks = spearmanr(result["relevance"], result["importance"]).statistic
    assert result["correlation"] == pytest.approx(ranks)
    assert result["score"] > 0.9


def test_the_page_and_its_medians():
    tables = [
        {"table": f"t{k}", "task": task, "rows": 9, "features": 3, "score": 0.5,
         "correlation": correlation, "same": correlation > 0.5, "pairs": k}
        for k, (task, correlation) in enumerate(
            [("regression", 0.9), ("regression", 0.7), ("classification", 0.2)]
        )
    ]  # fmt: skip
    rows = {row["tables"]: row for row in relevance.medians(tables)}
    assert rows["regression"]["median"] == pytest.approx(0.8)
    assert rows["all"]["lowest"] == 0.2
    assert rows["all"]["same first"] == pytest.approx(2 / 3)
    assert [rows[name]["number"] for name in rows] == [2, 1, 1, 2, 3]
    report = {"seed": 1, "date": "today", "load_average": None, "machine": CPU, "tables": tables}
    page = relevance.to_markdown(report)
    assert page.startswith("# Relevance beside permutation importance\n")
    assert "| t2    | classification |" in page
    assert page.endswith("A, 2 cores, B, C, numpy 2; load average at the start unknown; today.\n")
