"""Printed cells that were not rerun."""

from __future__ import annotations

from papers.overview.reason import Reason

__all__ = ["NOT_RERUN"]

NOT_RERUN: tuple[Reason, ...] = (
    Reason(
        verdict="not rerun", set="covtype|Protein|TomsHardware",
        text="No copy of the set is at hand.",
    ),
    Reason(
        verdict="not rerun", set="ijcnn1",
        text="No stand-in for the set was measured.",
    ),
    Reason(
        verdict="not rerun", study="tessellated-sdp", method="SDP",
        text="One semidefinite program on all rows is out of reach of a common solver: its time "
        "grows at least with the third power of the rows. It was measured on 20 to 40 of them "
        "(benchmark tessellated-sdp).",
    ),
    Reason(
        verdict="not rerun",
        text="A method of others that this library doesn't have.",
    ),
)  # fmt: skip
