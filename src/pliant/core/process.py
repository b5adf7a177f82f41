"""What this process is for, decided before other modules of pliant are imported.

A process that only predicts a small table works *bare*: the base classes of estimators are those of
`pliant.core.bare`, and no loop is compiled. Loading scikit-learn and numba takes seconds, and the
arithmetic takes milliseconds.
"""

from __future__ import annotations

BARE = False
"""True if this process predicts without scikit-learn and numba; set by ``pliant predict``."""
