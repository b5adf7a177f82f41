"""The studies: each table of a paper, or study of our own, as one declaration."""

from papers.studies import hadamard, lab_rbf, large, scg, tkl
from papers.study import Study

STUDIES: dict[str, Study] = {
    study.name: study for module in (hadamard, tkl, lab_rbf, scg, large) for study in module.STUDIES
}
"""The studies by name, in the order of the papers."""
