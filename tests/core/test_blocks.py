"""Computation of outputs in blocks of rows."""

import numpy as np
import pytest

from pliant.core import blocks
from pliant.core.blocks import in_blocks

X = np.arange(12.0).reshape(6, 2)


def test_blocks_are_joined(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 10)
    sizes = []

    def outputs(some):
        sizes.append(len(some))
        return some.sum(axis=1)

    np.testing.assert_array_equal(in_blocks(X, 5, outputs), X.sum(axis=1))
    assert sizes == [2, 2, 2]


@pytest.mark.parametrize("shape", [(6,), (6, 3)])
@pytest.mark.parametrize("factor", [np.inf, np.nan])
def test_outputs_that_are_not_finite_are_refused_with_their_row(shape, factor):
    factors = np.where(np.arange(6) == 4, factor, 1.0).reshape(-1, *[1] * (len(shape) - 1))

    def outputs(some):
        return np.full(shape, 10.0) * factors

    with pytest.raises(ValueError, match="expected finite outputs, got inf or NaN for row 4 of X"):
        in_blocks(X, 1, outputs)
