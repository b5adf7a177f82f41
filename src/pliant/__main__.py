"""Run the command line as ``python -m pliant``, without the ``pliant`` script."""

import sys

from pliant.tables.cli import main

if __name__ == "__main__":
    code = main()
    # Before version 3.14, Python ends by SIGINT if Ctrl-C ever came during exec of a text, as in a
    # dataclass, even if it was handled; another exec makes it forget.
    exec("")
    sys.exit(code)
