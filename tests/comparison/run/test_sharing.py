"""Kernels that candidates of a search have in common are learned once, to the same end."""

import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import LogDetLearner, OrderSpectralLearner
from pliant.comparison.run.sharing import RecentResults, shared
from pliant.registry import METHODS
from tests.methods.side_information.test_scg import data

LEARNED = ("scg-ldk", "scg-osk", "osk", "ldk")


def squares(numbers, calls):
    calls.append(len(numbers))
    return {"squares": numbers**2}


class Calls(list):
    """The same argument however many calls it has seen."""

    def __reduce__(self):
        return Calls, ()


def test_a_result_is_computed_once_and_given_as_a_copy():
    results, calls, numbers = RecentResults(), Calls(), np.arange(5.0)
    function = results.cache(squares)
    one, two = function(numbers, calls), function(numbers.copy(), calls)
    one["squares"][:] = -1.0
    assert two["squares"].tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]
    assert function(numbers, calls)["squares"].tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]
    function(numbers + 1.0, calls)
    function(numbers.astype(np.float32), calls)
    assert (len(calls), results.hits) == (3, 2)
    results.clear()
    function(numbers, calls)
    assert (len(calls), results.hits) == (4, 2)


def test_memory_is_bounded_and_the_oldest_goes_first():
    results, calls = RecentResults(cache_mb=1.0), Calls()
    function = results.cache(squares)
    third = np.arange(2.0**17 / 3.5)
    for shift in (0.0, 1.0, 2.0, 0.0, 3.0):  # the fourth is there; the last takes the place of 1
        function(third + shift, calls)
    assert len(calls) == 4
    function(third, calls)
    function(third + 3.0, calls)
    assert len(calls) == 4
    function(third + 1.0, calls)
    assert len(calls) == 5
    for _ in range(2):
        function(np.arange(2.0**18), calls)  # too large to be kept
    assert len(calls) == 7


def test_threads_may_ask_at_the_same_time():
    results, wrong = RecentResults(cache_mb=0.01), []
    function = results.cache(squares)

    def ask(seed):
        for number in np.random.default_rng(seed).integers(30, size=200):
            found = function(np.full(100, float(number)), Calls())["squares"]
            wrong.extend(found[found != number**2])

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert results.hits > 0


def learner_of(name):
    machine = METHODS[name].learner("classification")()
    if isinstance(machine.learner, LogDetLearner):
        machine.set_params(learner__max_pairs=50, learner__tol=0.1)
    if isinstance(machine.learner, OrderSpectralLearner):
        machine.set_params(learner__n_components=20)
    return machine.set_params(random_state=0)


@pytest.mark.parametrize("name", LEARNED)
def test_a_search_finds_the_same_with_and_without(name):
    X, y = data(60)
    y = y % 2
    model = make_pipeline(StandardScaler(), learner_of(name))
    prefix = "learnedkernelclassifier__"
    grid = {prefix + key: values for key, values in METHODS[name].param_grid(3).items()}
    cv = StratifiedKFold(2)
    plain = GridSearchCV(model, grid, cv=cv, refit=False, scoring="roc_auc").fit(X, y)
    with shared(model) as lent:
        search = GridSearchCV(lent, grid, cv=cv, refit=False, scoring="roc_auc").fit(X, y)
        results = lent.get_params()[prefix + "memory"]
        best = clone(lent).set_params(**search.best_params_)
        learned_before = results.hits
        values = cross_val_predict(best, X, y, cv=cv, method="decision_function")
        assert results.hits == learned_before + 2  # the folds of the search
    n_prices = len(grid[prefix + "machine__C"])
    assert learned_before == 2 * len(search.cv_results_["params"]) * (n_prices - 1) / n_prices
    assert search.best_params_ == plain.best_params_
    for key in ("split0_test_score", "split1_test_score"):
        assert search.cv_results_[key].tobytes() == plain.cv_results_[key].tobytes()
    alone = clone(model).set_params(**plain.best_params_)
    expected = cross_val_predict(alone, X, y, cv=cv, method="decision_function")
    assert values.tobytes() == expected.tobytes()


def fitted_and_broken_off(model):
    with pytest.raises(KeyboardInterrupt), shared(model) as lent:  # noqa: PT012
        lent.fit(*data())
        raise KeyboardInterrupt
    return lent


def test_nothing_is_left_behind():
    model = learner_of("osk")
    lent = fitted_and_broken_off(model)
    assert model.memory is None
    assert not hasattr(model, "learner_")
    lent.fit(*data())
    assert lent.memory.hits == 0
    lent.fit(*data())
    assert lent.memory.hits == 1
