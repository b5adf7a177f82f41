"""The studies as Markdown pages."""

from __future__ import annotations

from collections.abc import Callable

from papers.document import Document
from papers.rendering import left_out, provenance
from papers.side_information.cells import (
    REFERENCE,
    accuracies,
    chosen,
    embeddings,
    extension,
    gains,
    times,
    variants,
)
from papers.side_information.notes import (
    BESIDE,
    GAINS,
    PAIRED,
    SECONDS,
    VARIANTS,
    contestants_note,
    protocol_note,
    set_notes,
)
from papers.side_information.printed import (
    EXTENSION_P_VALUE,
    LARGE,
    LARGE_STANDING,
    SMALL,
    SMALL_STANDING,
    Cells,
    Standing,
    printed_p_value,
)
from papers.side_information.results import Results
from papers.side_information.standing import (
    paired,
    printed_standing,
    standing,
)
from papers.side_information.studies import (
    EMBEDDING,
    MAIN,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    SideStudy,
)
from papers.side_information.summary import LEVEL, compared, embedded, kernels
from pliant.comparison import wilcoxon_test

__all__ = ["page"]

OURS = "scg-ldk"


def page(document: Document, study: SideStudy) -> str:
    """Return the page of a study."""
    results = Results(document)
    first, *tables = MIDDLE[study.name](results)
    parts = [
        f"# {study.title}\n",
        first,
        "## Protocol\n",
        protocol_note(study, results),
        left_out(study.sets, document),
        contestants_note(study, results),
        *tables,
        "## Notes\n",
        f"{study.note}\n" if study.note else "",
        set_notes(study, results),
        provenance(document),
    ]
    return "\n".join(part for part in parts if part)


def _small(results: Results) -> list[str]:
    return _compared(results, SMALL, SMALL_STANDING)


def _large(results: Results) -> list[str]:
    return _compared(results, LARGE, LARGE_STANDING)


def _compared(results: Results, cells: Cells, said: Standing) -> list[str]:
    """Show accuracies, ranks and times of a table of several methods."""
    main = [who for who in MAIN if who in results.titles]
    others = [who for who in results.titles if who != OURS]
    more = [who for who in results.titles if who not in MAIN]
    return [
        compared(results, cells),
        "## Accuracy\n",
        BESIDE,
        accuracies(cells, results),
        _averages(results),
        "## Ranks\n",
        printed_standing(cells, said),
        standing(results, main),
        *([] if OURS not in main or not others else _against(results, others)),
        "## Seconds\n",
        SECONDS,
        times(cells, results),
        *(["## Variants\n", VARIANTS, variants(results, more)] if more else []),
    ]


def _averages(results: Results) -> str:
    """Say the mean over the sets of each contestant that was measured on all of them."""
    found = {
        title: results.means([who]).mean()
        for who, title in results.titles.items()
        if all(results.has(name, who) for name in results.sets)
    }
    listed = ", ".join(f"{title} {mean:.2f}" for title, mean in found.items())
    return f"Mean of the measured accuracies over the {len(results.sets)} sets: {listed}.\n"


def _against(results: Results, others: list[str]) -> list[str]:
    return [
        "## SCG-LDK against the others\n",
        PAIRED,
        paired(results, OURS, others),
        f"The paper's gamma, as SCG-LDK chose it: {chosen(results, OURS, 'strength')}.\n",
    ]


def _extension(results: Results) -> list[str]:
    """Table 4 and its test."""
    first, second = (
        [results.accuracy(name, OURS, part).mean() for name in results.sets]
        for part in ("unlabelled", "test")
    )
    said = ""
    if len(first) > 1:
        test = wilcoxon_test(first, second)
        said = (
            f"Wilcoxon's signed-rank test, [p, h]: the paper [{EXTENSION_P_VALUE}, 0] (its printed "
            f"means give p = {printed_p_value():.4f}), measured [{test.p_value:.4f}, "
            f"{int(test.p_value < LEVEL)}]: the later points are {-test.mean_difference:+.2f} "
            "percentage points off the unlabelled ones on average.\n"
        )
    return [
        said,
        "## Accuracy on unlabelled and on later points\n",
        "Paper / measured, in per cent. The kernel is learned from the labelled and unlabelled "
        "points; at the later ones it is its extension, Eq. (32).\n",
        extension(results),
        f"The paper's gamma, as chosen: {chosen(results, OURS, 'strength')}.\n",
    ]


def _embedding(results: Results) -> list[str]:
    """Accuracies in few dimensions, and what is won."""
    parts = [
        embedded(results, REFERENCE),
        "## Accuracy of the nearest neighbours\n",
        "Of held-out points, mean ± standard deviation in per cent.\n",
        embeddings(results),
    ]
    if OURS in results.titles:
        others = [who for who in results.titles if who != OURS]
        parts += [
            f"## {results.titles[OURS]} against the others\n",
            GAINS.format(first=results.titles[OURS]),
            gains(results, OURS, others),
            kernels(results),
        ]
    return parts


MIDDLE: dict[str, Callable[[Results], list[str]]] = {
    TABLE_3.name: _small,
    TABLE_4.name: _extension,
    TABLE_5.name: _large,
    EMBEDDING.name: _embedding,
}
"""The first paragraph of each page, and its tables."""
