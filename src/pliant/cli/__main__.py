"""Run the command line as ``python -m pliant.cli``, without the ``pliant`` script."""

import sys

from pliant.cli import main

sys.exit(main())
