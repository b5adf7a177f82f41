"""Learning in parts: divide the samples, run the parts, keep what is finished.

`kmeans_partition` divides the samples by k-means. `run_parts` runs one task for each part on any
backend of joblib. A `Store` keeps the results in a folder, so that an interrupted run continues
where it stopped.
"""

from pliant.methods.svm.parts.divide import (
    AUTO_SIZE,
    DIVISION,
    Partition,
    divided,
    kmeans_partition,
)
from pliant.methods.svm.parts.folder import fingerprint
from pliant.methods.svm.parts.parallel import halted, run_parts
from pliant.methods.svm.parts.store import PartResult, Store

__all__ = [
    "AUTO_SIZE",
    "DIVISION",
    "PartResult",
    "Partition",
    "Store",
    "divided",
    "fingerprint",
    "halted",
    "kmeans_partition",
    "run_parts",
]
