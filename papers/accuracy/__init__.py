"""Tables 3 and 4 of TKL: machines with a learned kernel beside forests and boosting, on 14 sets.

``python -m papers tkl-tables-3-4 --data DIR`` measures them. The parts: the data
(`sets`), how a set is split and who competes (`protocol`, `tessellated`, `gaussian`, `ensembles`),
one measurement and those that are kept (`study`, `measuring`), who wins (`standing`), and the page
(`pages`, `cells`, `costs`, `notes`) with what the paper prints (`printed`).
"""

from papers.accuracy.measuring import complete
from papers.accuracy.pages import page
from papers.accuracy.printed import NAME
from papers.accuracy.sets import SETS

__all__ = ["NAME", "NAMES", "complete", "page"]

NAMES = tuple(SETS)
"""The sets of the study."""
