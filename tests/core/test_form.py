"""The declared form of stored attributes, and its check."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from pliant.core.form import (
    FINITE,
    POSITIVE,
    Labels,
    Object,
    Part,
    Size,
    check_form,
    check_loaded,
    form_of,
    indices,
    numbers,
    shown,
)
from pliant.core.parameters import one_of, real_number

NAN, INF = np.nan, np.inf


def checked(form, **values):
    return check_form(SimpleNamespace(**values), form)


FORM = {
    "a": Part("f8", ("rows", 2)),
    "b": Part("i4", ("rows",), low=0, high=5),
    "c": Part("f8", ("others",), low=-INF, high=INF, optional=True),
    "d": Part("b1", ("rows",)),
}


def record(**changed):
    given = {"a": np.zeros((3, 2)), "b": np.arange(3, dtype="i4"), "c": None, "d": np.ones(3, bool)}
    return SimpleNamespace(**{**given, **changed})


def test_sizes_are_found_by_name():
    assert check_form(record(), FORM) == {"rows": 3}
    assert check_form(record(c=np.full(4, INF)), FORM) == {"rows": 3, "others": 4}
    empty = record(a=np.zeros((0, 2)), b=np.zeros(0, "i4"), d=np.zeros(0, bool))
    assert check_form(empty, FORM) == {"rows": 0}


@pytest.mark.parametrize(
    "changed",
    [
        {"a": np.zeros((3, 3))}, {"a": np.zeros(3)}, {"a": np.zeros((3, 2), "f4")}, {"a": None},
        {"a": np.zeros((2, 3)).T}, {"a": np.full((3, 2), NAN)}, {"a": np.full((3, 2), 1e101)},
        {"a": [[0.0, 0.0]] * 3}, {"b": np.arange(4, dtype="i4")}, {"b": np.arange(3)},
        {"b": np.arange(3, dtype="i4") - 1}, {"b": np.full(3, 6, "i4")}, {"d": np.ones(3, "u1")},
        {"c": np.array([1.0, NAN])}, {"c": "none"}, {"d": np.ones(3, bool)[:, None]},
    ],
)  # fmt: skip
def test_other_forms_are_refused(changed):
    (name,) = changed
    with pytest.raises(ValueError, match=f"expected {name} "):
        check_form(record(**changed), FORM)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ranges_hold_for_entries_of_any_type(dtype):
    form = {"a": numbers("rows", low=POSITIVE)}
    assert checked(form, a=np.ones(3, dtype)) == {"rows": 3}
    for entry in (0.0, INF, NAN):
        with pytest.raises(ValueError, match="expected a > 0"):
            checked(form, a=np.array([1.0, entry], dtype))


ROWS = {"rows": Size("rows", least=1, most=9)}

CASES = [
    (numbers("n"), [[1, 2], np.full(2, -FINITE), []], [[INF], ["a"], 1.0, [[1]]]),
    (numbers("n", low=0.0), [[0.0]], [[-1e-300], [NAN]]),
    (numbers("n", low=POSITIVE), [[1e-320]], [[0.0], [-1]]),
    (numbers("n", scalar=True), [2.0, [1.0, 2.0]], [INF, [[1.0]], "1", None]),
    (numbers("n", "m", flat=True), [np.ones(2), np.ones((2, 3))], [1.0, np.ones((2, 1, 1))]),
    (numbers("n", order=np.less_equal), [[1, 1, 2], [], [3]], [[1, 2, 1]]),
    (numbers("n", order=np.less), [[1, 2]], [[1, 1, 2]]),
    (numbers("n", total=1.0), [[0.25, 0.75], [1 - 1e-9]], [[0.5, 0.6], [0.0], [NAN]]),
    (numbers("n", least=2), [[1, 2]], [[1]]),
    (numbers("n", "m"), [[[1, 2.5], (True, np.float32(3))]], [[np.ones(2)] * 3, [["a", "b"]]]),
    (Part("integer", ("n",)), [(1, np.int8(2))], ["12", [1, "2"], [1, None]]),
    (numbers("rows"), [np.ones(4)], [np.ones(3)]),
    (shown("n"), [[NAN, INF], [1]], [["a"], 3.0]),
    (indices("n"), [[0, 5], [], np.arange(3, dtype="u2")], [[-1], [0.5], [2**62 + 1]]),
    (indices("n", below="rows"), [[3], []], [[4], [0, 7]]),
    (Part("f8", ("rows", 2), sparse=True), [scipy.sparse.csr_array((4, 2)), np.ones((4, 2))],
     [scipy.sparse.csr_array((4, 3)), scipy.sparse.csr_array((3, 2)), None]),
    (Part("f8", ("rows", 2)), [np.ones((4, 2))], [scipy.sparse.csr_array((4, 2))]),
    (Size("rows"), [4], [5, -1, 4.0, True, np.int64(4), None, 2**60]),
    (Labels("n"), [np.array(["a", "b"]), np.array([1, 2]), np.array([b"x"])],
     [["a", "b"], np.array([1, 1]), np.array([]), np.eye(2), np.array([None, 1]), None]),
    (Labels("n", least=2), [np.array([True, False])], [np.array([1])]),
    (Labels("rows", texts=True), [np.array(["a", "b", "a", ""], object)],
     [np.array(["a"] * 3, object), np.array(["a", "b", "c", 1], object), np.arange(4)]),
    (Object(bool), [True, False], [1, 0, None, "True", np.True_]),
    (Object((list, dict)), [[], {}], [(), None]),
    (Object(np.ndarray, sizes={"ndim": 2, "size": "rows"}), [np.eye(2)], [np.eye(3), np.ones(4)]),
    (Object(str, axis="rows"), [list("abcd"), tuple("abcd")], [[], list("abc"), [1] * 4, "abcd"]),
    (Object(float, axis="n", named=True), [[("a", 1.0), ("b", 2.0)]],
     [[("a", 1)], [["a", 1.0]], [(1, 1.0)], [("a", 1.0, 2.0)], [1.0], []]),
    (Object(object, method="items"), [{}], [[], 3]),
    (Object(object, axis="n", shared="own"), [[SimpleNamespace(own=np.arange(2))]],
     [[SimpleNamespace(own=np.arange(3))], [SimpleNamespace(own=[0, 1])], [3.0]]),
    (one_of(("a", "b")), ["a"], ["c", None]),
    (real_number(above=0), [1, 2.5], [0, NAN, "1"]),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "valid", "invalid"), CASES)
def test_an_entry_takes_what_it_declares_and_nothing_else(entry, valid, invalid):
    form = {**ROWS, "value": entry}
    for value in valid:
        assert checked(form, rows=4, value=value, own=np.arange(2))["rows"] == 4
    for value in invalid:
        with pytest.raises(ValueError, match="expected value"):
            checked(form, rows=4, value=value, own=np.arange(2))


@pytest.mark.parametrize(
    "entry",
    [numbers("n", optional=True), Object(str, optional=True), Size("n", optional=True),
     Labels("n", optional=True)],
)  # fmt: skip
def test_only_an_optional_part_may_be_none_or_missing(entry):
    assert checked({"value": entry}, value=None) == checked({"value": entry}) == {}
    with pytest.raises(AttributeError, match="value"):
        checked({"value": type(entry)(**{**vars(entry), "optional": False})})


class Base:
    _form = {"a, b": numbers("n"), "c": Object(int)}  # noqa: RUF012

    def __init__(self, **values):
        vars(self).update(values)
        self.order = []

    def _check_loaded(self):
        self.order.append("base")


class Derived(Base):
    _form = {"c": Object(str), "d": numbers("n")}  # noqa: RUF012

    def _check_loaded(self):
        self.order.append("derived")


def test_a_class_adds_to_what_its_base_classes_declare():
    assert list(form_of(Derived)) == ["a", "b", "c", "d"]
    assert form_of(Derived)["c"] is Derived._form["c"]
    value = Derived(a=[1], b=[2], c="x", d=[3])
    check_loaded(value)
    assert value.order == ["base", "derived"]
    value.b = [1, 2]
    with pytest.raises(ValueError, match="expected b with 1 n, got 2"):
        check_loaded(value)
