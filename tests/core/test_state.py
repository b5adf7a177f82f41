"""A model changes in one assignment, and its methods read one state."""

import pytest
from sklearn.base import BaseEstimator

from pliant.core.state import reads, trains, updates


class Model(BaseEstimator):
    """Model of two attributes that belong together."""

    def __init__(self, parameter=1):
        self.parameter = parameter

    @trains
    def fit(self, value, before=lambda: None):
        self.first_ = value
        before()
        self.second_ = value
        return self

    @updates
    def add(self, value):
        self.first_, self.second_ = self.first_ + value, self.second_ + value
        return self.first_

    @reads
    def predict(self, between=lambda: None):
        first = self.first_
        between()
        return first, self.second_


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("fitted", [True, False])
def test_an_interrupted_fit_changes_nothing(fitted):
    model = Model(2)
    model.extra = []
    if fitted:
        model.fit(1)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(3, interrupt)
    assert vars(model) == before
    assert vars(model)["extra"] is before["extra"]


def test_a_fit_returns_the_model_without_older_attributes():
    model = Model()
    model.older_ = 7
    assert model.fit(1) is model
    assert vars(model) == {"parameter": 1, "first_": 1, "second_": 1}


def test_an_update_keeps_other_attributes_and_returns_its_result():
    model = Model().fit(1)
    model.third_ = 5
    assert model.add(2) == 3
    assert vars(model) == {"parameter": 1, "first_": 3, "second_": 3, "third_": 5}


def test_a_method_reads_the_state_of_its_start():
    model = Model().fit(1)
    assert model.predict(lambda: model.fit(2)) == (1, 1)
    assert model.predict() == (2, 2)


def test_a_fit_is_invisible_until_it_ends():
    model, seen = Model().fit(1), []
    model.fit(2, lambda: seen.append(model.predict()))
    assert seen == [(1, 1)]


def test_a_fit_keeps_what_others_set_meanwhile():
    model = Model().fit(1)

    def meanwhile():
        model.set_params(parameter=5)
        model.note = "kept"

    model.fit(2, meanwhile)
    assert vars(model) == {"parameter": 5, "note": "kept", "first_": 2, "second_": 2}
