"""Fixtures to measure without a separate process per contestant, which is slow to start."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout
from types import SimpleNamespace
from unittest import mock

import pytest

from benchmarks.harness import measuring, worker
from tests.benchmarks.computed import threads_found_once


def run_here(command, *, input, env, **_):
    """Run a worker in this process instead of ``subprocess.run``."""
    with (
        mock.patch.dict(os.environ, env),
        mock.patch.object(sys, "stdin", io.StringIO(input.decode())),
        redirect_stdout(io.StringIO()),
    ):
        worker.main(command[-1])
    return SimpleNamespace(returncode=0, stderr=b"")


@pytest.fixture(scope="module")
def in_process():
    """Measure in the process of the tests; separate tests cover the processes.

    The value lists the command of each replaced process.
    """
    commands = []

    def run(command, **options):
        commands.append(command)
        return run_here(command, **options)

    stand_in = SimpleNamespace(
        run=run,
        DEVNULL=None,
        PIPE=None,
        TimeoutExpired=measuring.subprocess.TimeoutExpired,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "subprocess", stand_in)
        patch.setattr(worker, "threadpool_info", threads_found_once)
        patch.setattr(worker, "reset_peak_memory", lambda: None)  # slow: it collects all garbage
        yield commands
