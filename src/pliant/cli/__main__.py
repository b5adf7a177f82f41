"""``python -m pliant.cli``: the command line, where the ``pliant`` script is not on the path."""

import sys

from pliant.cli import main

sys.exit(main())
