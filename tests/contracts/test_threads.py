"""Every fit, transform and prediction limits BLAS to one thread and ignores NumPy's flags."""

import os
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.utils import validation
from threadpoolctl import ThreadpoolController, threadpool_limits

import pliant
from pliant.core import threads
from pliant.core.threads import blas_limited, one_blas_thread
from pliant.methods.lab_rbf import trainer
from tests.contracts.test_same_bytes import QUICK

METHODS = (
    "fit",
    "fit_transform",
    "fit_gram",
    "transform",
    "predict",
    "predict_interval",
    "predict_second",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "refit_coefficients",
    "distance_to_support",
    "explain",
)


def blas_threads():
    """Return the numbers of threads of this process's multithreaded BLAS libraries."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {x["num_threads"] for x in libraries if x.get("threading_layer") != "disabled"}


@pytest.fixture(autouse=True)
def three_threads():
    """Set three threads from a thread that ends, so no other thread controls the limit."""
    before = min(blas_threads())
    set_blas_threads(3)
    yield
    set_blas_threads(before)


def set_blas_threads(number):
    """Set the number of threads of the BLAS libraries, for all Python threads."""
    thread = threading.Thread(target=threadpool_limits, args=(number, "blas"))
    thread.start()
    thread.join()


ESTIMATORS = [
    name
    for name in sorted(pliant.__all__)
    if hasattr(getattr(pliant, name), "fit")
    and name not in ("KernelLearner", "TableFeatures")  # a protocol; no matrix products
]


@pytest.mark.filterwarnings("ignore")
def test_every_method_holds_blas_to_one_thread_without_a_variable(monkeypatch):
    for key in [key for key in os.environ if key.endswith("_NUM_THREADS")]:
        monkeypatch.delenv(key)
    seen, check = [], validation.check_array

    def check_array(*args, **kwargs):
        seen.append((blas_threads(), set(np.geterr().values())))
        return check(*args, **kwargs)

    monkeypatch.setattr(validation, "check_array", check_array)  # every method calls it for a list
    X, y = make_classification(40, 4, random_state=0)
    for name in ESTIMATORS:
        estimator = getattr(pliant, name)(**QUICK.get(name, {}))
        for method in METHODS:
            if hasattr(estimator, method):
                seen.clear()
                labels = (y,) if "fit" in method or "refit" in method else ()
                getattr(estimator, method)(X.tolist(), *labels)
                assert seen, (name, method)
                assert all(state == ({1}, {"ignore"}) for state in seen), (name, method)
                assert blas_threads() == {3}, (name, method)


def test_an_error_restores_the_threads():
    @blas_limited
    def fails():
        assert blas_threads() == {1}
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert blas_threads() == {3}


def test_a_function_within_a_block_keeps_the_limit_and_threads_have_their_own():
    state = blas_limited(lambda: (blas_threads(), set(np.geterr().values())))
    found = []
    with np.errstate(all="warn"), one_blas_thread():
        found += [state(), state()]  # the first one leaves the limit as it is
        thread = threading.Thread(target=lambda: found.append(state()))
        thread.start()
        thread.join()
        found.append(state())
    assert found == [({1}, {"ignore"})] * 4
    assert blas_threads() == {3}


def test_the_last_of_several_threads_restores():
    inside, first_left = threading.Barrier(2), threading.Event()
    after = []

    def second():
        with one_blas_thread():
            inside.wait(10)
            first_left.wait(10)
            after.append(blas_threads())

    thread = threading.Thread(target=second)
    thread.start()
    with one_blas_thread(), one_blas_thread():
        inside.wait(10)
    after.append(blas_threads())
    first_left.set()
    thread.join()
    assert after == [{1}, {1}]
    assert blas_threads() == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_has_a_limit_of_its_own():
    with one_blas_thread():
        before = threads._limit
        child = os.fork()
        if child == 0:
            os._exit(0 if threads._limit is not before else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert threads._limit is before


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_a_worker_takes_one_thread(backend):
    tasks = (delayed(threads.threads_for)(None, worth_it=True) for _ in range(2))
    assert Parallel(n_jobs=2, backend=backend)(tasks) == [1, 1]


def test_a_small_fit_takes_one_thread_and_a_large_one_all_cores(monkeypatch):
    numbers = []
    kept = trainer.Parallel

    def parallel(n_jobs=None, **options):
        numbers.append(n_jobs)
        return kept(n_jobs=n_jobs, **options)

    monkeypatch.setattr(trainer, "Parallel", parallel)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    rng = np.random.default_rng(0)
    for rows, expected in ((100, 1), (2000, 2)):
        numbers.clear()
        X = rng.uniform(size=(rows, 2))
        pliant.LABRBFRegressor(max_iter=1, n_members=2, dense=False).fit(X, X[:, 0] + X[:, 1] ** 2)
        assert set(numbers) == {expected}
