"""Rounding errors of another processor: ``pytest --rounding SEED``.

Processors and their libraries add in different orders, so the last digits of results differ. This
switch changes the last three bits of the numbers with which tests and pliant compute, by up to
2^-49 of their size: of random numbers and data sets, of kernel values, and of the results of BLAS
and LAPACK routines that are called by name. A test whose outcome rounding decides fails for some
seed.

The last bits become a hash of the other bits and the seed. So equal numbers stay equal, opposite
numbers opposite, and a second change has no effect: symmetric matrices stay symmetric, and
repeated fits agree in all bits. Numbers of at most 26 significant bits, such as small integers,
stay as they are, because their products are exact on every processor.
"""

import functools
import importlib
import sys

import numpy as np
import pytest

LAST = np.uint64(7)
LONG = np.uint64((1 << 27) - 1)
"""Bits of the mantissa that are zero in a number of at most 26 significant bits."""

MOVES = ("choice", "permutation", "permuted", "shuffle")
"""Methods of random generators that return, or move, numbers of the caller."""

ROUTINES = {
    "numpy.linalg": (
        "cholesky", "det", "eigh", "eigvalsh", "inv", "lstsq", "norm", "pinv", "qr", "slogdet",
        "solve", "svd",
    ),
    "scipy.linalg": (
        "cho_factor", "cho_solve", "cholesky", "eigh", "eigvalsh", "inv", "lu_factor", "lu_solve",
        "solve", "solve_triangular",
    ),
    "scipy.linalg.blas": ("dgemm", "dsyrk", "dtrsm"),
    "scipy.linalg.lapack": ("dgetrf", "dpotrf", "dpotri", "dpotrs", "dpstrf", "dtrtrs"),
    "sklearn.datasets": ("load_breast_cancer", "load_diabetes", "load_iris", "load_wine"),
}  # fmt: skip


def install(seed):
    """Change the last bits of numbers in this process from now on, before pliant is imported."""
    if "pliant" in sys.modules:  # the conftest.py of a folder among the arguments imports it
        raise pytest.UsageError("--rounding needs the folder tests, with --ignore for parts of it")
    wrapped = functools.partial(_wrapped, factor=factor_of(seed))
    _replace_generators(wrapped)
    for library, names in ROUTINES.items():
        module = importlib.import_module(library)
        for name in names:
            setattr(module, name, wrapped(getattr(module, name)))
    from pliant.kernels.base import Kernel

    Kernel._finite = wrapped(Kernel._finite)


def factor_of(seed):
    """Return an odd factor for `disturb`."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] | np.uint64(1)


def disturb(values, factor):
    """Replace the last bits of a float64 array or number, or of those in a collection.

    Arrays that own their memory are changed in place, which takes little memory.
    """
    if isinstance(values, dict):  # a data set
        return type(values)(**{key: disturb(each, factor) for key, each in values.items()})
    if isinstance(values, tuple):
        parts = [disturb(each, factor) for each in values]
        return type(values)(*parts) if hasattr(values, "_fields") else tuple(parts)
    if isinstance(values, float):
        return type(values)(disturb(np.array([values]), factor)[0])
    if not isinstance(values, np.ndarray) or values.dtype != np.float64:
        return values
    own = values.flags.owndata and values.flags.writeable and values.flags.forc
    array = values if own else values.copy(order="A")
    flat = array.reshape(-1, order="A")  # a view
    for low in range(0, len(flat), 10_000):
        _disturb_bits(flat[low : low + 10_000], factor)
    return array


def _disturb_bits(numbers, factor):
    """Replace the last bits of a vector in place by a multiplicative hash without the sign."""
    bits = numbers.view(np.uint64)
    changes = (bits & LONG != 0) & np.isfinite(numbers)
    kept = bits & ~LAST
    np.copyto(bits, kept | (kept << np.uint64(1)) * factor >> np.uint64(61), where=changes)


def _wrapped(function, factor):
    @functools.wraps(function)
    def call(*args, **options):
        result = function(*args, **options)
        return result if options.get("out") is not None else disturb(result, factor)

    return call


def _replace_generators(wrapped):
    """Replace the classes of random generators by subclasses that disturb their numbers."""

    def methods(kind):
        names = {name for name in dir(kind) if name[0] != "_"}.difference(MOVES)
        found = {name: getattr(kind, name) for name in names}
        return {name: wrapped(method) for name, method in found.items() if callable(method)}

    random = np.random
    state = random.RandomState

    class AnyState(type(state)):
        def __instancecheck__(cls, instance):  # also copies made by pickle, of the original class
            return type.__instancecheck__(state, instance)

    kind = AnyState("RandomState", (state,), methods(state))
    made = type("Generator", (random.Generator,), methods(random.Generator))
    original = random.default_rng

    def default_rng(seed=None):
        rng = original(seed)
        return rng if rng is seed else made(rng.bit_generator)

    random.default_rng = default_rng
    random.RandomState = random.mtrand.RandomState = kind
    random.mtrand._rand = kind(0)
    kind.__module__, made.__module__ = "numpy.random.mtrand", "numpy.random._generator"
