"""A row of advice."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Decision", "named"]


@dataclass(frozen=True)
class Decision:
    """What to take, and why; all texts are Markdown.

    Attributes
    ----------
    situation, take : str
    measured : str
        With the numbers.
    unless : str
        When not to.
    repeat : str
        What has the numbers in a file of its name, and measures them again.
    """

    situation: str
    take: str
    measured: str
    unless: str
    repeat: str

    def cells(self) -> list[str]:
        """Return the cells of the row."""
        return [self.situation, self.take, self.measured, self.unless, self.repeat]


def named(kind: str, *names: str) -> str:
    """Name what measures the numbers: studies, benchmarks or figures."""
    return f"{kind} {', '.join(f'`{name}`' for name in names)}"
