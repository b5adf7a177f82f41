"""Cells on a Dask cluster of two processes: the local run, also where workers die or are lost."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier

from pliant.comparison import compare
from pliant.comparison.comparing import compare_sample
from pliant.comparison.protocol import DEFAULT, Cell, Protocol
from pliant.comparison.run import cells, cluster, on_worker, running
from pliant.comparison.run.cells import perform
from pliant.comparison.run.cluster import Cluster
from pliant.comparison.run.journal import Journal
from pliant.comparison.sample import Sample
from pliant.core import dask as collections
from pliant.registry import Method
from tests.cli.conftest import captured, patients, write

dask = pytest.importorskip("dask", reason="needs Dask")
distributed = pytest.importorskip("distributed", reason="needs Dask's distributed scheduler")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="a process cannot send these signals to others"),
]

PROTOCOL = Protocol(folds=2, repeats=1, inner_folds=2, candidates=3, seed=3)
COSTS = ("seconds", "memory_mb", "size_bytes")
"""How names of what two runs do not share begin; a pickle is larger where its parts were sent."""

LIMIT = 1 << 30
"""Bytes of memory of a worker."""

QUICK_START = """
from distributed.utils import get_mp_context
imported = ["distributed", "pliant.comparison.run.on_worker"]
get_mp_context().set_forkserver_preload(imported)
"""
"""Workers begin as forks of a process that has imported what they need: they start again often."""


def tables():
    return len(on_worker._TABLES)


class Trouble(ClassifierMixin, BaseEstimator):
    """A classifier that leaves the id of its process in a folder, and then makes trouble."""

    def __init__(self, what="sleep", folder=None, fits=None):
        self.what = what
        self.folder = folder
        self.fits = fits

    def fit(self, X, y):
        place = Path(self.folder)
        done = len([*place.iterdir()])
        (place / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        if self.fits is None or done in self.fits:
            getattr(self, self.what)()
        self.classes_ = np.unique(y)
        return self

    def sleep(self):
        time.sleep(300)

    def kill_the_worker(self):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(300)

    def take_memory(self):
        self.blocks = [np.ones(5_000_000) for _ in range(100) if time.sleep(0.02) is None]

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Unsent:
    """Makes a classifier, and cannot be pickled, or else not be loaded by a worker."""

    def __init__(self, module=None):
        self.module = module

    def __call__(self):
        return DummyClassifier()

    def __reduce__(self):
        if self.module is None:
            raise TypeError("expected something else to be pickled")
        return import_module, (self.module,)


def method(name, maker):
    return Method(name, name, "", maker, None, {}, 10_000, "for tests")


def trouble(what, folder, fits=None):
    """Return a method that makes trouble in all its fits, or in those of these numbers."""
    return method(what, lambda: Trouble(what, str(folder), fits))


PLAIN = method("plain", DummyClassifier)


@pytest.fixture(scope="module")
def servers():
    """A scheduler and two workers, as a user starts them, and their address.

    A task whose worker died twice has failed, by Dask's own setting.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    each = ("--nthreads", "1", "--memory-limit", str(LIMIT), "--preload-nanny", QUICK_START)
    commands = (
        ["scheduler", "--host", "127.0.0.1", "--port", str(port)],
        ["worker", address, "--nworkers", "2", *each],
    )
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path]),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
        "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver",
    }
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [
        subprocess.Popen([sys.executable, "-m", "dask", *words, "--no-dashboard"], env=env, **quiet)
        for words in commands
    ]
    yield address, started[0]
    for process in reversed(started):
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def client(servers):
    with distributed.Client(servers[0], timeout=60, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return Sample.of(X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int))


def entry(result, name):
    return next(entry for entry in result.methods if entry.name == name)


def without_costs(data):
    """Plain data without what two runs never share."""
    if isinstance(data, dict):
        kept = {name: part for name, part in data.items() if not name.startswith(COSTS)}
        return {name: without_costs(part) for name, part in kept.items()}
    return [without_costs(each) for each in data] if isinstance(data, list) else data


def as_json(result):
    return json.loads(json.dumps(result.to_dict()))


def lines(path):
    """The cells of a journal in no order, without costs and the hashes of them."""
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [{**each, "record": without_costs(each["record"]), "hash": ""} for each in entries[1:]]
    return entries[0], sorted(json.dumps(each) for each in kept)


@pytest.fixture
def here(monkeypatch):
    """Cells without a cluster run in this process, which is quicker."""

    def perform_here(sample, protocol, learner, cell, key, ends=None):
        return perform(sample, protocol, learner, cell)

    monkeypatch.setattr(running, "perform_apart", perform_here)


@pytest.mark.usefixtures("here")
def test_a_run_on_a_cluster_is_the_local_run(client, sample, tmp_path, monkeypatch):
    """The same bytes in the journal and the result but for costs; the table is sent once."""
    methods = ["dummy", "linear", ("complains", DummyClassifier(strategy="constant"))]
    options = {"protocol": PROTOCOL, "budget": None}
    sent, scatter = [], client.scatter

    def counted(data, **choices):
        sent.append(data)
        return scatter(data, **choices)

    monkeypatch.setattr(client, "scatter", counted)
    on_cluster = compare_sample(
        sample, methods, cache=tmp_path / "there", scheduler=client, **options
    )
    local = compare_sample(sample, methods, cache=tmp_path / "here", n_jobs=1, **options)
    assert len(sent) == 1
    assert set(client.run(tables).values()) == {0}  # they are dropped at the end
    assert entry(local, "complains").status == "error"
    assert lines(tmp_path / "there") == lines(tmp_path / "here")
    assert without_costs(as_json(on_cluster)) == without_costs(as_json(local))
    assert on_cluster.score_text() == local.score_text()


def test_a_cell_beyond_the_memory_limit_of_its_worker_fails_alone(client, sample, tmp_path):
    client.wait_for_workers(2, timeout=60)
    workers = {*client.nthreads()}
    place = Cluster(client, sample, PROTOCOL)
    taker = trouble("take_memory", tmp_path)
    record = place.perform(sample, PROTOCOL, taker, Cell(taker.name, 0, 0, DEFAULT), "key")
    message = (
        r"not enough memory: more than \d+ bytes \(\d+ MB\), which the memory limit of the worker "
        rf"tcp://127.0.0.1:\d+, {LIMIT} bytes \(1.1 GB\), leaves for each of its 1 thread"
    )
    assert (record["status"], record["crashed"]) == ("error", True)
    assert re.match(message, record["error"])
    assert {*client.nthreads()} == workers


def is_alive(process):
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def processes(folder):
    return [int(each.name.split("-")[0]) for each in folder.iterdir()]


def wait_until(happened):
    while not happened():  # the suite's own limit of time ends it
        time.sleep(0.05)


def test_ctrl_c_ends_the_cells_on_the_cluster(client, sample, tmp_path):
    def press(record, done, total):
        wait_until(lambda: processes(tmp_path))
        raise KeyboardInterrupt

    methods = [PLAIN, trouble("sleep", tmp_path)]
    options = {"protocol": PROTOCOL, "budget": None, "progress": press, "n_jobs": 2}
    result = compare_sample(sample, methods, scheduler=client, **options)
    assert result.interrupted
    assert [record["method"] for record in result.records] == ["plain"]
    [process] = processes(tmp_path)
    wait_until(lambda: not is_alive(process))
    wait_until(lambda: not any(client.processing().values()))


def test_a_cell_is_ended_when_its_time_is_up(client, sample, tmp_path):
    sleeper, cell = trouble("sleep", tmp_path), Cell("sleep", 0, 0, DEFAULT)
    place = Cluster(client, sample, PROTOCOL)

    def ended():
        return place.perform(sample, PROTOCOL, sleeper, cell, "key", time.time() + 2.0)

    assert ended()["status"] == cells.CUT
    wait_until(lambda: not any(map(is_alive, processes(tmp_path))))
    past = place.perform(sample, PROTOCOL, sleeper, cell, "key", time.time())
    assert past["status"] == cells.CUT


def test_what_cannot_be_sent_is_a_cell_with_its_error(client, sample):
    methods = [method("unsent", Unsent()), method("unknown", Unsent("not_on_a_worker"))]
    options = {"protocol": Protocol(folds=2, repeats=1), "budget": None, "scheduler": client}
    result = compare_sample(sample, methods, **options)
    assert entry(result, "unsent").reason == "TypeError: expected something else to be pickled"
    assert "No module named 'not_on_a_worker'" in entry(result, "unknown").reason


def other_versions(name, value):
    return lambda: {**cluster_versions(), name: value}


cluster_versions = cluster.versions


def test_workers_must_have_the_same_versions(client, sample, monkeypatch):
    asked = {"protocol": PROTOCOL, "budget": None, "scheduler": client, "methods": [PLAIN]}
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "__version__", "9.9")
        with pytest.raises(ImportError, match=r"expected pliant 9.9 on the worker tcp.*, got '0"):
            compare_sample(sample, **asked)
    for name in ("Python", "numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(cluster, "versions", other_versions(name, "7.7"))
            with pytest.raises(
                ImportError, match=rf"expected {name} 7.7 on the worker tcp://\S+, "
            ):
                compare_sample(sample, **asked)
    monkeypatch.setattr(cluster, "_check_versions", lambda client: None)  # it joins later
    monkeypatch.setattr(cluster, "versions", other_versions("scipy", "7.7"))
    with pytest.raises(ImportError, match=r"expected scipy 7.7 on the worker .* the same versions"):
        compare_sample(sample, **asked)


@pytest.mark.parametrize(
    ("scheduler", "error", "message"),
    [
        ("somewhere", ValueError, r"such as tcp://127.0.0.1:8786, got 'somewhere'"),
        ("http://127.0.0.1:80", ValueError, "got 'http://127.0.0.1:80'"),
        (8786, TypeError, r"or as a distributed\.Client, got int"),
        ("tcp://127.0.0.1:1", ConnectionError, r"'tcp://127.0.0.1:1', got no answer in 0.2 s \("),
    ],
)
def test_no_cluster_is_one_clear_error(scheduler, error, message, sample, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    with pytest.raises(error, match=message):
        compare_sample(sample, [PLAIN], PROTOCOL, cache=tmp_path / "j", scheduler=scheduler)
    assert [*tmp_path.iterdir()] == []


def test_a_cluster_without_workers_and_a_missing_package(monkeypatch):
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    place = {"host": "127.0.0.1", "dashboard_address": ":0", "protocol": "tcp://", "n_workers": 0}
    with distributed.LocalCluster(**place, processes=False) as workers:
        address = workers.scheduler_address
        with distributed.Client(address, set_as_default=False) as alone:
            message = f"one worker at the scheduler {address}, got none in 0.2 s: start one"
            with pytest.raises(ConnectionError, match=message):
                compare(X, y, methods=["dummy"], scheduler=alone)
        with pytest.raises(ConnectionError, match="a connected client, got one that is closed"):
            compare(X, y, methods=["dummy"], scheduler=alone)

    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(collections, "import_module", missing)
    with pytest.raises(ImportError, match=r"cluster need distributed .* 'pliant\[dask\]'"):
        compare(X, y, methods=["dummy"], scheduler="tcp://127.0.0.1:8786")


def test_all_workers_that_are_lost_are_one_clear_error(client, sample, monkeypatch):
    place = Cluster(client, sample, PROTOCOL)
    assert place.slots() == 2
    monkeypatch.setattr(cluster, "RESTART", -1.0)
    monkeypatch.setattr(client, "nthreads", dict)
    assert place.slots() == 1  # a cell waits for a new worker
    with pytest.raises(ConnectionError, match="but got no worker in -1 s; finished cells are"):
        place.slots()


def test_a_cell_whose_worker_is_killed_runs_again_or_fails_alone(client, sample, tmp_path):
    """Dask runs it on another worker; where it allows no failures, the cell has failed."""
    folder, cache = tmp_path / "ids", tmp_path / "journal"
    folder.mkdir()
    killer, protocol = trouble("kill_the_worker", folder, fits=(0, 2)), Protocol(folds=2, repeats=1)

    def allow_none(record, done, total):
        client.run_on_scheduler(set_allowed_failures, 0)

    options = {"budget": None, "cache": cache, "n_jobs": 1, "scheduler": client}
    result = compare_sample(sample, [killer, PLAIN], protocol, progress=allow_none, **options)
    assert len(processes(folder)) == 3
    again, failed = result.records[:2]
    local = perform(sample, protocol, killer, Cell(killer.name, 0, 0, DEFAULT))
    assert without_costs(again) == without_costs(local)
    assert re.fullmatch(
        r"its worker died at tcp://127.0.0.1:\d+: out of memory beyond its limit of "
        rf"{LIMIT} bytes \(1.1 GB\), or a crash",
        failed["error"],
    )
    assert entry(result, "plain").status == "done"
    kept = [json.loads(line)["record"] for line in cache.read_text().splitlines()[1:]]
    assert sorted(record["method"] for record in kept) == [killer.name, "plain", "plain"]


def set_allowed_failures(number, dask_scheduler):
    dask_scheduler.allowed_failures = number


def test_a_table_that_is_lost_again_and_again_fails_the_cell(client, sample, monkeypatch):
    """As on a single worker, which has the only copy of the table."""
    place, losses = Cluster(client, sample, PROTOCOL), []

    def lose(*arguments):
        losses.append(arguments)
        raise CancelledError

    monkeypatch.setattr(place, "_performed", lose)
    record = place.perform(sample, PROTOCOL, PLAIN, Cell("plain", 0, 0, DEFAULT), "key")
    assert record["error"] == "its worker died 4 times: out of memory, or a crash"
    assert len(losses) == 4


WORDS = ("compare", "patients.csv", "--target", "sick", "--methods", "dummy,linear")
WORDS += ("--folds", 2, "--repeats", 1, "--budget", "none", "--jobs", 1, "--json", "-")


def test_a_lost_scheduler_is_one_clear_error_and_the_run_resumes(
    servers, client, tmp_path, monkeypatch
):
    """At the command line: kill -9 for the scheduler after two cells, then --resume without it.

    This test is the last: it leaves no cluster to others.
    """
    address, scheduler = servers
    client.wait_for_workers(2, timeout=60)
    client.close()
    monkeypatch.chdir(tmp_path)
    write("patients.csv", *patients())
    add, added = Journal.add, []

    def lose(self, *record):
        add(self, *record)
        added.append(record)
        if len(added) == 2:
            scheduler.kill()
            scheduler.wait()

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "add", lose)
        patch.setattr(cluster, "_check_versions", lambda client: None)  # new workers import much
        done = captured(*WORDS, "--scheduler", address, "--cache", "there")
    assert (done.code, done.out) == (1, "")
    assert f"Note: cells run on the Dask cluster {address}: 2 workers, 2 threads\n" in done.err
    assert re.fullmatch(
        rf"Error: expected the Dask scheduler {address} and its workers until all cells are done, "
        r"but .*; finished cells are kept .* go on with --resume .*",
        done.err.splitlines()[-1],
    )
    assert len(Path("there").read_text().splitlines()) == 1 + len(added)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "perform_apart", lambda *cell: perform(*cell[:4]))
        resumed = captured(*WORDS, "--cache", "there", "--resume")
        whole = captured(*WORDS, "--cache", "here")
    assert (resumed.code, whole.code) == (0, 0)
    assert lines(Path("there")) == lines(Path("here"))
    tables = [json.loads(each.out)["records"] for each in (resumed, whole)]
    assert without_costs(tables[0]) == without_costs(tables[1])
