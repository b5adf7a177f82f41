"""Parts of a large training set: divide the rows, run the parts, keep what is finished.

`kmeans_partition` divides the rows by k-means. `run_parts` runs one task a part on any backend of
joblib. A `Store` keeps the results in a folder, so that an interrupted run goes on where it was.
"""

from pliant.methods.hadamard.parts.divide import AUTO_SIZE, Partition, kmeans_partition
from pliant.methods.hadamard.parts.fingerprint import fingerprint
from pliant.methods.hadamard.parts.parallel import run_parts
from pliant.methods.hadamard.parts.result import PartResult
from pliant.methods.hadamard.parts.store import Store
from pliant.methods.hadamard.parts.tasks import halted

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
