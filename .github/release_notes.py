"""Print the section of CHANGELOG.md for a tag; fail if tag and project disagree.

python .github/release_notes.py v1.2.3
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def release_notes(tag: str, changelog: str, version: str) -> str:
    """Return the notes of a release.

    Parameters
    ----------
    tag : str
        "v" and the version.
    changelog : str
        Text with a heading ``## 1.2.3 (2030-01-31)`` for each release.
    version : str
        Version of the package.

    Raises
    ------
    ValueError
        If the tag does not match the version, or the changelog has no dated section for it.
    """
    if tag != f"v{version}":
        raise ValueError(f"expected the tag v{version}, as in pliant/_version.py, got {tag}")
    heading = rf"^## {re.escape(version)} \(([^)]*)\)$"
    section = re.search(rf"{heading}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        raise ValueError(f"expected a section '## {version} (date)' in CHANGELOG.md, got none")
    date, notes = section.groups()
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        raise ValueError(f"expected a date such as 2030-01-31 at version {version}, got ({date})")
    return notes.strip() + "\n"


def main() -> int:
    """Print the notes of the tag in the first argument."""
    if len(sys.argv) != 2:
        print(f"expected one tag, got {sys.argv[1:]}", file=sys.stderr)
        return 2
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    source = (ROOT / "src" / "pliant" / "_version.py").read_text("utf-8")
    version = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)[0]
    try:
        print(release_notes(sys.argv[1], changelog, version), end="")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
