"""The benchmark of a comparison's first minutes describes what was compared."""

from benchmarks.comparing import described
from benchmarks.registry import BENCHMARKS
from tests.comparison.report.report_cases import result


def test_what_is_described():
    facts = described(result())
    assert (facts["methods"], facts["ranked"], facts["common folds"]) == (9, 8, 7)
    assert facts["below"] == "scg-ldk"
    assert facts["rows"] == 400
    assert facts["dummy"] == 9.7


def test_its_cases():
    made, own = (BENCHMARKS["first-minutes"].cases(has_data) for has_data in (False, True))
    assert [case.name for case in made] == ["generated, 20000 rows", "generated, 100000 rows"]
    assert len(own) == 6
    assert {case.params["budget"] for case in own} == {300.0}
    assert {case.warm_up["methods"] for case in own} == {"quick"}
