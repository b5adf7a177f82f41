"""Conjugate gradients for the normal equations, and the costs that choose the method."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.sparse import is_sparse
from pliant.core.typing import Array, Callback
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Gaussian
from pliant.methods.ridge.problem import Precondition, RidgeCertificate, SketchedEquations

PROGRESS = 0.5
"""A restart makes no progress if more than this fraction of the gradient norm remains."""


@dataclass(eq=False)
class Solver:
    """Conjugate gradients for all t right-hand sides of a problem, starting from zero.

    Iterations end when the gap of each target is at most its entry in `gaps`. The preconditioner
    is that of the centres, that of the sample after `sample_limit` iterations, and the exact
    inverse after `cg_limit` iterations (never if None).
    """

    problem: SketchedEquations
    gaps: Array
    max_iter: int
    callback: Callback
    cg_limit: int | None = None
    sample_limit: int | None = None
    n_iter: int = field(default=0, init=False)
    stopped: bool = field(default=False, init=False)
    sampled: bool = field(default=False, init=False)
    direct: bool = field(default=False, init=False)
    precondition: Precondition | None = field(default=None, init=False)
    history: list[Progress] = field(default_factory=list, init=False)

    def solve(self) -> Result[RidgeCertificate]:
        """Return the solution with its certificate."""
        w = np.zeros_like(self.problem.right)
        proof = self._certify(w)
        while (status := self._status(proof)) is None:
            # Restart: rounding makes the recursive residual drift from b - A w. With the
            # accurate g = b - A w of the certificate, solve A d = g for a correction d.
            if self._at_cg_limit():
                self.precondition = None  # free its memory
                self.precondition, self.direct = self.problem.inverse(), True
            elif self._at_sample_limit():
                self.precondition = None
                self.precondition, self.sampled = self.problem.sampled_inverse(), True
            start, last = w, proof
            w = start + self._correction(proof)
            proof = self._certify(w)
            shrunk = (proof.gaps <= self.gaps) | (proof.gaps <= PROGRESS**2 * last.gaps)
            if self._must_end() or shrunk.all():
                continue
            if not (proof.gaps <= last.gaps).all():  # rounding made a target worse
                w = start
                proof = self._certify(w)
            if not self.problem.has_exact_rows or self.direct:
                status = Status.STALLED
                break
            self.problem.rows = self.problem.exact  # float32 makes no further progress
        return Result(
            x=w,
            value=proof.value,
            gap=proof.gap,
            n_iter=self.n_iter,
            status=status,
            history=self.history,
            certificate=proof,
        )

    def _certify(self, w: Array) -> RidgeCertificate:
        certificate = self.problem.certify(w)
        step = Progress(self.n_iter, certificate.value, certificate.gap)
        self.history.append(step)
        self.stopped = self.callback(step) is True or self.stopped
        return certificate

    def _status(self, certificate: RidgeCertificate) -> Status | None:
        if (certificate.gaps <= self.gaps).all():
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        return Status.MAX_ITER if self.n_iter >= self.max_iter else None

    def _at_cg_limit(self) -> bool:
        """Return True if the exact inverse must replace the preconditioner."""
        return self.cg_limit is not None and not self.direct and self.n_iter >= self.cg_limit

    def _at_sample_limit(self) -> bool:
        """Return True if the sample must replace the centres in the preconditioner."""
        if self.sampled or self.direct or self.sample_limit is None:
            return False
        return self.n_iter >= self.sample_limit

    def _must_end(self) -> bool:
        """Return True after a stop request, or at `max_iter` iterations or another limit."""
        ended = self.stopped or self.n_iter >= self.max_iter
        return ended or self._at_cg_limit() or self._at_sample_limit()

    def _correction(self, certificate: RidgeCertificate) -> Array:
        """Solve A d = g approximately for the gradient g, directly or iteratively; return d."""
        r = certificate.gradient.copy()
        if self.direct and self.precondition is not None:
            self.n_iter += 1
            return self.precondition(r)
        if self.precondition is None:
            self.precondition = self.problem.approximate_inverse()
        sizes = np.linalg.norm(r, axis=0)
        # gaps are proportional to |g|^2; half the required norm allows for rounding errors
        goals = 0.5 * sizes * np.sqrt(self.gaps / certificate.gaps)
        if self.problem.has_exact_rows:
            goals = np.maximum(goals, 1e-4 * sizes)  # the rest is left to a restart
        total = np.zeros_like(r)
        p = z = self.precondition(r)
        rz = np.einsum("ij,ij->j", r, z)
        active = sizes > goals
        least, since = rz, 0  # r'z when its root was last halved, and iterations since then
        while active.any() and not self._must_end():
            q = self.problem.product(p)
            pq = np.einsum("ij,ij->j", p, q)
            active &= (pq > 0.0) & (rz > 0.0)  # otherwise, r is rounding error
            step = np.divide(rz, pq, out=np.zeros_like(rz), where=active)  # r'z / p'A p
            total += step * p
            r -= step * q
            self.n_iter += 1
            active &= np.linalg.norm(r, axis=0) > goals
            self.stopped = self.callback(Progress(self.n_iter, np.nan, np.nan)) is True
            z = self.precondition(r)
            last, rz = rz, np.einsum("ij,ij->j", r, z)
            halved = active & (rz <= PROGRESS**2 * least)
            least = np.where(halved, rz, least)
            since = 0 if halved.any() else since + 1
            if self.problem.has_exact_rows and since >= 15:  # stalled: restart
                break
            p = z + np.divide(rz, last, out=np.zeros_like(rz), where=active) * p
        return total


class Costs(NamedTuple):
    """Estimated costs in nanoseconds per row, so that fits do not depend on measured times."""

    iteration: float
    normal_matrix: float

    @classmethod
    def of(cls, kernel: Kernel, shape: tuple[int, float], n_targets: int, kept: float) -> Self:
        """Estimate the costs for centres of a shape (m, d), or of `products_per_value` d.

        A fraction `kept` of the kernel values is kept between passes.
        """
        n_centres, n_features = shape
        # Nanoseconds per row-centre pair, on one core of an AMD EPYC. A Gaussian value takes 1.5
        # plus .06 per feature; a value of another kernel, 1 (linear) to 40 (SCG-LDK, DANK). An
        # iteration reads a kept value (.8) and computes two products per target (.25). The normal
        # matrix takes a triangular solve and a rank-one update per centre (.05).
        value = 1.5 + 0.06 * n_features if isinstance(kernel, Gaussian) else 10.0
        iteration = (1.0 - kept) * value + kept * 0.8 + 0.25 * n_targets
        return cls(n_centres * iteration, n_centres * (0.05 * n_centres + value))

    def sample_size(self, n_rows: int, n_centres: int) -> int:
        """Return the number of rows k of the preconditioner with the least cost of a fit.

        For m centres and random rows, eigenvalues of the preconditioned matrix lie within
        (1 -+ e)^2, e = sqrt(m / k), so that an iteration reduces the error by the factor e.
        """
        sizes = [n_centres * 2**power for power in range(2, 8)]
        return min(min(sizes, key=partial(self._cost, n_rows, n_centres)), n_rows)

    def _cost(self, n_rows: int, n_centres: int, size: int) -> float:
        iterations = math.log(1e6) / math.log(math.sqrt(size / n_centres))
        return size * self.normal_matrix + iterations * n_rows * self.iteration

    def limit(self, n_rows: int, size: int) -> int:
        """Return the number of iterations that cost as much as the normal matrix of `size` rows.

        It is 0 if below 5. At this limit, the solver switches to this matrix, so a fit costs at
        most twice as much as with the cheaper method.
        """
        number = math.ceil(size * self.normal_matrix / (n_rows * self.iteration))
        return 0 if number < 5 else number


def products_per_value(points: Any) -> float:
    """Return the mean cost of an inner product of two points, in dense products.

    Two rows of a sparse array share sum_j p_j^2 columns on average, for shares p_j of nonzeros.
    A product in a compiled loop over them, 1 ns, takes as long as 16 dense products.
    """
    if not is_sparse(points):
        return float(points.shape[1])
    shares = np.bincount(points.indices, minlength=points.shape[1]) / points.shape[0]
    return 16.0 * float(shares @ shares)
