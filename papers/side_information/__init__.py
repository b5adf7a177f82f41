"""SCG-LDK, SCG-OSK, LDK and OSK: Tables 3, 4 and 5 of the SCG paper, and held-out embeddings.

``python -m papers NAME --data DIR`` with NAME one of ``scg-table-3``, ``scg-table-4``,
``scg-table-5`` and ``scg-embedding`` measures them. The parts: the data (`sets`), how they are
divided (`protocol`), the kernels (`learned`, `logdet` with `blocks`, `bounds`, `spectral`) and the
machine that judges them (`machine`), the embeddings (`peer`, `linear`, `kernels`), where they
compete (`studies`), the measurements that are kept (`measuring`), what they say (`results`,
`standing`), and the pages (`pages`, `cells`, `notes`) with what the paper prints (`printed`).
"""

from papers.side_information.measuring import complete
from papers.side_information.pages import page
from papers.side_information.studies import STUDIES, Held, SideStudy

__all__ = ["STUDIES", "Held", "SideStudy", "complete", "page"]
