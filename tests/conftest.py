"""Shared setup of all tests: hypothesis profiles, and Ctrl-C in background jobs.

Continuous integration draws the same 40 examples in every run, so failures come from changes of
the code; on a developer's computer each run draws 100 new ones. No example has a time limit, which
would depend on the load of the computer.

Each cell of a comparison collects garbage, which is slow with many imported modules. They are
excluded from it, as in the processes of cells.
"""

import gc
import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FIXED = bool(os.environ.get("CI"))
settings.register_profile(
    "pliant", deadline=None, derandomize=FIXED, max_examples=40 if FIXED else 100
)
settings.load_profile("pliant")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts a job with "&"
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--rounding", type=int, default=0, metavar="SEED", help="see tests/rounding.py"
    )


def pytest_configure(config):
    if seed := config.getoption("rounding"):
        from tests.rounding import install

        install(seed)


def pytest_collection_modifyitems(config, items):
    if config.getoption("rounding"):
        reason = pytest.mark.skip(reason="--rounding changes numbers in this process only")
        for item in items:
            if item.get_closest_marker("processes"):
                item.add_marker(reason)


@given(st.none())
def any_example(nothing):
    """Make hypothesis register its generators, which it cannot find once they are frozen."""


def pytest_collection_finish():
    any_example()
    gc.collect()
    gc.freeze()
