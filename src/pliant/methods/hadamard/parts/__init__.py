"""Learning in parts: divide the samples, run the parts, keep what is finished.

`kmeans_partition` divides the samples by k-means. `run_parts` runs one task for each part on any
backend of joblib. A `Store` keeps the results in a folder, so that an interrupted run continues
where it stopped.
"""

from pliant.methods.hadamard.parts.divide import AUTO_SIZE, Partition, kmeans_partition
from pliant.methods.hadamard.parts.folder import fingerprint
from pliant.methods.hadamard.parts.parallel import halted, run_parts
from pliant.methods.hadamard.parts.store import PartResult, Store

__all__ = [
    "AUTO_SIZE",
    "PartResult",
    "Partition",
    "Store",
    "fingerprint",
    "halted",
    "kmeans_partition",
    "run_parts",
]
