"""What all tests share: no limits on an example's time, and Ctrl-C also in a background job.

Each cell of a comparison collects garbage, which takes long where much is imported; what is
imported is left out of that, as in the processes of cells.
"""

import gc
import signal

from hypothesis import settings

settings.register_profile("pliant", deadline=None)  # a deadline measures how busy the machine is
settings.load_profile("pliant")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts a job with "&"
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
