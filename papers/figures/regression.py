"""A plain epsilon-SVR and DANK, each tuned by cross-validation, on a function without noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from papers.figures.samples import Sample
from papers.figures.tuning import Chosen, Grid, choose, gamma_of
from pliant import C_path, DANKRegressor
from pliant.core.typing import Array

__all__ = ["Comparison", "Rivals", "better", "tell"]


@dataclass(frozen=True)
class Comparison:
    """Both machines, fitted, and what was measured of them."""

    plain: TransformedTargetRegressor
    learned: DANKRegressor
    measured: dict[str, dict[str, Any]]

    def errors(self, part: str = "test") -> tuple[float, float]:
        """Return 1 - R2 of SVR-CV and of DANK."""
        plain, learned = (self.measured[name][f"{part} 1 - R2"] for name in ("SVR-CV", "DANK"))
        return plain, learned


@dataclass(frozen=True)
class Rivals:
    """SVR-CV and DANK, which differ in the kernel only.

    Attributes
    ----------
    grid : Grid
        Its `eta_scales` are DANK's.
    epsilon : float
        Errors that are free, in standard deviations of the training target.
    tau : float
    tuning_tol : float
        Relative gap to which DANK is solved while choosing.
    """

    grid: Grid = field(default_factory=lambda: Grid(eta_scales=(1.0, 0.1, 0.01)))
    epsilon: float = 0.01
    tau: float = 0.01
    tuning_tol: float = 1e-3

    def compare(self, sample: Sample) -> Comparison:
        """Tune both on the training points, fit them there, and measure."""
        plain = choose(self._svrs, sample.X, sample.y, replace(self.grid, eta_scales=(1.0,)))
        learned = choose(self._danks, sample.X, sample.y, self.grid)
        (svr,) = self._svrs(plain.gamma, 1.0, [plain.C], sample.X, sample.y)
        dank, same = (
            self._dank(c.gamma, c.eta_scale).set_params(C=c.C, tol=1e-4).fit(sample.X, sample.y)
            for c in (learned, plain)
        )
        measured = {
            "SVR-CV": _numbers(svr, len(svr.regressor_.support_), plain, sample),
            "DANK": {**_numbers(dank, len(dank.support_), learned, sample), **_adaptation(dank)},
            "DANK with the parameters of SVR-CV": {
                **_numbers(same, len(same.support_), plain, sample),
                **_adaptation(same),
            },
            "SVR, best of the grid on the test points": self._best_svr(sample),
        }
        return Comparison(svr, dank, measured)

    def _svrs(
        self, gamma: float, _: float, Cs: Sequence[float], X: Array, y: Array
    ) -> list[TransformedTargetRegressor]:
        machines = [SVR(gamma=gamma, C=C, epsilon=self.epsilon) for C in Cs]
        scaled = [TransformedTargetRegressor(m, transformer=StandardScaler()) for m in machines]
        return [machine.fit(X, y) for machine in scaled]

    def _best_svr(self, sample: Sample) -> dict[str, float]:
        """Return what the SVR could reach, had cross-validation known the test points."""
        found = [
            {"sigma": sigma, "C": C, "test 1 - R2": 1.0 - svr.score(sample.X_test, sample.y_test)}
            for sigma in self.grid.sigmas
            for C, svr in zip(
                self.grid.Cs,
                self._svrs(gamma_of(sigma), 1.0, self.grid.Cs, sample.X, sample.y),
                strict=True,
            )
        ]
        return min(found, key=lambda each: each["test 1 - R2"])

    def _danks(
        self, gamma: float, eta_scale: float, Cs: Sequence[float], X: Array, y: Array
    ) -> list[DANKRegressor]:
        return C_path(self._dank(gamma, eta_scale), X, y, Cs)

    def _dank(self, gamma: float, eta_scale: float) -> DANKRegressor:
        given = {"epsilon": self.epsilon, "tau": self.tau, "tol": self.tuning_tol}
        return DANKRegressor(gamma=gamma, eta_scale=eta_scale, **given)


def _numbers(machine: Any, n_support: int, chosen: Chosen, sample: Sample) -> dict[str, Any]:
    return {
        **chosen._asdict(),
        "support points": n_support,
        "training 1 - R2": 1.0 - machine.score(sample.X, sample.y),
        "test 1 - R2": 1.0 - machine.score(sample.X_test, sample.y_test),
    }


def _adaptation(machine: DANKRegressor) -> dict[str, Any]:
    F = machine.adaptation_.toarray()
    return {
        "rank of F": machine.adaptation_.rank,
        "least entry of F": float(F.min()),
        "largest entry of F": float(F.max()),
    }


def tell(measured: dict[str, dict[str, Any]]) -> str:
    """Put the outcome of a comparison into words."""
    svr, dank, same, best = (
        measured[name]
        for name in (
            "SVR-CV",
            "DANK",
            "DANK with the parameters of SVR-CV",
            "SVR, best of the grid on the test points",
        )
    )
    return (
        f"SVR-CV {svr['test 1 - R2']:.2g} (σ = {svr['sigma']:g}, C = {svr['C']:g}), DANK "
        f"{dank['test 1 - R2']:.2g} (σ = {dank['sigma']:g}, C = {dank['C']:g}, eta_scale "
        f"{dank['eta_scale']:g}), DANK with the SVR's σ and C {same['test 1 - R2']:.2g}; the best "
        f"SVR of the grid, had the choice been made on these points, {best['test 1 - R2']:.2g} "
        f"(σ = {best['sigma']:g}, C = {best['C']:g})"
    )


def better(measured: dict[str, dict[str, Any]]) -> str:
    """Say of each comparison who missed less."""
    return " ".join(
        f"For {label} {'DANK' if errors[1] < errors[0] else 'SVR-CV'} is the better one."
        for label, m in measured.items()
        for errors in [[m[name]["test 1 - R2"] for name in ("SVR-CV", "DANK")]]
    )
