"""What all tests share: how examples are drawn, and Ctrl-C also in a background job.

Continuous integration draws the same examples in every run, so that a change fails for its own
reasons; on a developer's computer each run draws new ones. No example has a time limit, which would
measure how busy the computer is.

Each cell of a comparison collects garbage, which takes long where much is imported; what is
imported is left out of that, as in the processes of cells.
"""

import gc
import os
import signal

from hypothesis import settings

settings.register_profile("pliant", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("pliant")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts a job with "&"
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
