"""What counts as a refusal: one sentence by pliant's or scikit-learn's own checks."""

import traceback
from pathlib import Path

import pliant

LONGEST = 900
"""Characters of a message."""

HOME = str(Path(pliant.__file__).parent)


def fault_of_refusal(error, *names):
    """Return why an error is no refusal that names what it should; None if it is one."""
    if not isinstance(error, ValueError | TypeError | OSError):
        return f"raw error: {_described(error)}"
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    if not (where.startswith(HOME) or "sklearn/utils/validation" in where):
        return f"raw error: {_described(error)}"
    text = str(error)
    if not text.isprintable() or not 10 < len(text) <= LONGEST:
        return f"no sentence: {_described(error)}"
    if missing := [name for name in names if str(name) not in text]:
        return f"unnamed: {missing[0]} is not in {_described(error)}"
    return None


def _described(error):
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__} at {place}: {ascii(str(error))[:300]}"


def content_of(folder):
    """Return the files of a folder, by name, with their bytes; links and folders by what they are.

    Hidden files are left out.
    """
    found = {}
    for path in sorted(Path(folder).iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            found[path.name] = ("link", str(path.readlink()))
        elif path.is_file():
            found[path.name] = path.read_bytes()
        else:
            found[path.name] = "folder or device"
    return found
