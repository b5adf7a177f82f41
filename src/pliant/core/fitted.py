"""What a fit leaves behind, and how it is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator

__all__ = ["forget", "fresh"]


@contextmanager
def fresh(estimator: BaseEstimator) -> Iterator[None]:
    """Drop the fitted attributes of an estimator; again, if what is done then does not end well.

    So a fit that fails, or is broken off, leaves an estimator that is not fitted.
    """
    forget(estimator)
    try:
        yield
    except BaseException:
        forget(estimator)
        raise


def forget(estimator: BaseEstimator) -> None:
    """Drop the fitted attributes of an estimator."""
    for name in [name for name in vars(estimator) if name.endswith("_") and name[0] != "_"]:
        delattr(estimator, name)
