"""The compiled SMO steps agree with plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.methods.svm.smo import solver


def state(seed, n, epsilon, c):
    """Return the arguments of `take_steps` at a feasible point, partly at the bounds."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, n + 5))
    gram = factor @ factor.T
    upper, lower = rng.uniform(0.5, 2.0, n), np.where(rng.random(n) < 0.5, 0.0, -1.0)
    beta = np.where(rng.random(n) < 0.3, upper, np.where(rng.random(n) < 0.5, lower, 0.0))
    v = gram**2 @ beta**2 if c else np.zeros(n)
    g = rng.normal(size=n) - gram @ beta - c * beta * v
    return [gram, gram.diagonal().copy(), lower, upper, np.full(n, epsilon), c, beta, g, v]


def plain_step(gram, diagonal, lower, upper, epsilon, c, beta, g, v, goal):
    """Take one step on the pair with the largest second-order gain; return True if it moved."""
    growth, least, gains = [], [], []
    for s in range(len(beta)):
        up = np.inf if beta[s] >= upper[s] else epsilon[s] if beta[s] >= 0 else -epsilon[s]
        down = -np.inf if beta[s] <= lower[s] else epsilon[s] if beta[s] > 0 else -epsilon[s]
        growth.append(g[s] - up)
        least.append(g[s] - down)
    i = int(np.argmax(growth))
    if growth[i] - min(least) <= goal:
        return False
    bends = diagonal + c * (v + 2.0 * (beta * diagonal) ** 2)
    for s in range(len(beta)):
        cross = gram[i, s] * (2.0 + 4.0 * c * beta[i] * beta[s] * gram[i, s])
        bend = max(bends[i] + bends[s] - cross, solver.FLAT)
        gains.append(max(growth[i] - least[s], 0.0) ** 2 / bend)
    j = int(np.argmax(gains))
    room = min(upper[i] - beta[i], beta[j] - lower[j])
    pair = solver.Pair(
        beta[i], beta[j], diagonal[i], diagonal[j], gram[i, j], v[i], v[j], c
    )  # fmt: skip
    t = solver._line_search(pair, growth[i] - least[j], epsilon[i], epsilon[j], room)
    p = g + gram @ beta + c * beta * v
    beta[i] = upper[i] if t >= upper[i] - beta[i] else beta[i] + t
    beta[j] = lower[j] if t >= beta[j] - lower[j] else beta[j] - t
    v[:] = gram**2 @ beta**2 if c else 0.0
    g[:] = p - gram @ beta - c * beta * v
    return True


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("c", [0.0, 0.02])
@pytest.mark.parametrize("n", [2, 7, 8, 30])
def test_steps_are_those_of_the_plain_loop(n, c, epsilon):
    fast = state(n, n, epsilon, c)
    for _ in range(25):  # each from the same point, as rounding breaks ties
        slow = [*fast[:6], *(each.copy() for each in fast[6:])]
        moved = solver.take_steps(*fast, 1e-9, 1)
        assert moved == plain_step(*slow, 1e-9)
        for seen, expected in zip(fast[6:], slow[6:], strict=True):
            np.testing.assert_allclose(seen, expected, atol=1e-10)
