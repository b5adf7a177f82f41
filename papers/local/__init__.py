"""LAB-RBF beside other regressors and classifiers, in three studies.

``python -m papers NAME --data DIR`` with NAME one of ``lab-rbf-tables-1-2`` (the paper's
support points), ``lab-rbf-defaults`` and ``lab-rbf-classification`` measures them. The parts: the
data (`sets`), how a set is split and scaled (`protocol`), who competes (`adaptive`, `boosting`,
`ridge`, `scikit`, `recursive`, `classifiers`) and where (`studies`), one measurement and those that
are kept (`study`, `measuring`), what they say (`results`, `bars`), and the pages (`pages`, `cells`,
`notes`) with what the paper prints (`printed`).
"""

from papers.local.measuring import complete
from papers.local.pages import page
from papers.local.protocol import LOCAL, LocalProtocol
from papers.local.studies import STUDIES, Held, LocalStudy

__all__ = ["LOCAL", "STUDIES", "Held", "LocalProtocol", "LocalStudy", "complete", "page"]
