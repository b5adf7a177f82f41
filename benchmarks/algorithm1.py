"""Algorithm 1 of He, He, Shi, Huang and Suykens, written plainly from the paper in PyTorch.

    minimise over Theta   |K(X, C) (K(C, C) + lambda I)^-1 y_C - y|^2,                      (9)
    k(t, c_i) = exp(-|theta_i o (t - c_i)|^2)                                               (1)

by Adam steps on random batches of the rows that are not support points, with gradients by
autograd: the kernel is one array expression of size rows x support points x features. After each
round the rows with the largest squared error join the support points. Line 8 is read as a descent;
the sign of a bandwidth does not matter, since only its square enters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from pliant.core.typing import Array, Indices

BLOCK = 2048
"""Rows that are predicted at once."""


def local_gram(points: Tensor, support: Tensor, bandwidths: Tensor) -> Tensor:
    """Return k(t, c_i) for all pairs, Eq. 1: shape (rows, n_support)."""
    differences = points[:, None, :] - support[None, :, :]
    return torch.exp(-((bandwidths * differences) ** 2).sum(dim=2))


def interpolant(support: Tensor, y_support: Tensor, bandwidths: Tensor, ridge: float) -> Tensor:
    """Return the coefficients of f, Eq. 8: (K(C, C) + lambda I)^-1 y_C."""
    gram = local_gram(support, support, bandwidths)
    return torch.linalg.solve(gram + ridge * torch.eye(len(gram), dtype=gram.dtype), y_support)


def interpolation_loss(
    points: Tensor,
    y: Tensor,
    support: Tensor,
    y_support: Tensor,
    bandwidths: Tensor,
    ridge: float,
) -> Tensor:
    """Return the mean squared error of f at the points, Eq. 9 over the number of rows."""
    coefficients = interpolant(support, y_support, bandwidths, ridge)
    return ((local_gram(points, support, bandwidths) @ coefficients - y) ** 2).mean()


def ridge_loss(
    points: Tensor, y: Tensor, support: Tensor, bandwidths: Tensor, ridge: float
) -> Tensor:
    """Return (|K c - y|^2 + lambda |c|^2)/rows at the c that minimises it, on all rows."""
    gram = local_gram(points, support, bandwidths)
    system = gram.T @ gram + ridge * torch.eye(len(support), dtype=gram.dtype)
    coefficients = torch.linalg.solve(system, gram.T @ y)
    squares = ((gram @ coefficients - y) ** 2).sum() + ridge * (coefficients**2).sum()
    return squares / len(points)


@dataclass
class Algorithm1:
    """The iteration, and what it has learned: ``chosen`` rows, ``bandwidths``, ``coefficients``."""

    X: Array
    """Features in [-1, 1], shape (n, d)."""
    y: Array
    n_support: int = 110
    """Support points at the end."""
    sigma: float = 30.0
    """theta = sigma/d at the start, which is the paper's 1/M for sigma = 1."""
    rate: float = 1e-3
    """Adam's step size."""
    ridge: float = 1e-3
    batch: int = 128
    """Rows of a step."""
    steps: int = 9500
    """In all, shared evenly among the rounds."""
    first: int = 20
    added: int = 10
    """Support points at the start, drawn uniformly, and those that join after a round; the paper
    does not give its own."""
    seed: int = 0
    n_steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._X = torch.as_tensor(self.X, dtype=torch.float32)
        self._y = torch.as_tensor(self.y, dtype=torch.float32)
        self._random = np.random.default_rng(self.seed)
        first = min(self.first, self.n_support)
        self.chosen: Indices = self._random.choice(len(self.X), first, replace=False)
        self.bandwidths = self._initial(first)

    def run(self) -> Algorithm1:
        """Learn in rounds, with more support points in each, until there are enough of them."""
        rounds = 1 + -(-(self.n_support - len(self.chosen)) // self.added)
        for steps in np.diff(np.linspace(0, self.steps, rounds + 1).astype(int)):
            if self.n_steps:
                self.grow()
            self.learn(int(steps))
        self.coefficients = self._solve()
        return self

    def learn(self, steps: int) -> None:
        """Take Adam steps on the bandwidths, the support points fixed: lines 6 to 10."""
        support, y_support = self.support, self._y[self.chosen]
        bandwidths = self.bandwidths.requires_grad_()
        adam = torch.optim.Adam([bandwidths], lr=self.rate)
        for rows in self._batches(steps):
            adam.zero_grad()
            given = self._X[rows], self._y[rows], support, y_support
            interpolation_loss(*given, bandwidths, self.ridge).backward()
            adam.step()
        self.bandwidths = bandwidths.detach()
        self.n_steps += steps

    def grow(self) -> None:
        """Make support points of the rows with the largest squared error: lines 11 to 15."""
        self.coefficients = self._solve()
        errors = (self.predict(self.X) - self.y) ** 2
        errors[self.chosen] = -np.inf
        count = min(self.added, self.n_support - len(self.chosen))
        worst = np.argsort(-errors, kind="stable")[:count]
        self.chosen = np.concatenate([self.chosen, worst])
        self.bandwidths = torch.cat([self.bandwidths, self._initial(count)])

    def predict(self, X: Array) -> Array:
        """Return f at the rows of X, shape (rows,)."""
        blocks = torch.as_tensor(X, dtype=torch.float32).split(BLOCK)
        values = [local_gram(t, self.support, self.bandwidths) @ self.coefficients for t in blocks]
        return torch.cat(values).numpy().astype(np.float64)

    @property
    def support(self) -> Tensor:
        """The support points, shape (n_support, d)."""
        return self._X[self.chosen]

    def _solve(self) -> Tensor:
        return interpolant(self.support, self._y[self.chosen], self.bandwidths, self.ridge)

    def _initial(self, count: int) -> Tensor:
        return torch.full((count, self.X.shape[1]), self.sigma / self.X.shape[1])

    def _batches(self, steps: int) -> Iterator[Indices]:
        """Draw rows that are not support points, without replacement within a batch."""
        others = np.setdiff1d(np.arange(len(self.X)), self.chosen)
        for _ in range(steps):
            yield self._random.choice(others, min(self.batch, len(others)), replace=False)
