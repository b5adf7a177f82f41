"""Run the command line as ``python -m pliant``, without the ``pliant`` script."""

import sys

from pliant.cli import main

if __name__ == "__main__":
    sys.exit(main())
