"""DANK on large sets beside libsvm: Table 4 of the paper.

``python -m papers dank-table-4 --data DIR`` measures it. The parts: the sets and what is
held fixed (`protocol`), who competes (`contestants`) with the rank of F (`rank`), the measurements
that are kept (`measuring`), and the page (`pages`) with what the paper prints (`printed`).
"""

from papers.large.contestants import CONTESTANTS, Contestant
from papers.large.measuring import complete
from papers.large.pages import page
from papers.large.protocol import LARGE, NAME, REPEATS, Held, LargeProtocol

__all__ = [
    "CONTESTANTS",
    "LARGE",
    "NAME",
    "REPEATS",
    "Contestant",
    "Held",
    "LargeProtocol",
    "complete",
    "page",
]
