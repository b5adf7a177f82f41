"""``python -m pliant.cli``: the command line without the ``pliant`` script on the path."""

import sys

from pliant.cli import main

sys.exit(main())
