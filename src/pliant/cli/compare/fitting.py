"""From a comparison to the model to use: the command that fits it, and ``--fit-best``."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from pliant.cli.compare.plan import Plan
from pliant.cli.fit.training import Order, train
from pliant.cli.report import program, word
from pliant.comparison.protocol import SEARCHED
from pliant.comparison.result import ComparisonResult
from pliant.comparison.run.baselines import NOT_SAVED
from pliant.comparison.stats.standings import Standing
from pliant.core.text import printable


def order_of(plan: Plan, standing: Standing) -> Order:
    """Return the options of ``pliant fit`` with which a method is learned as it was ranked.

    A method that was ranked with searched settings is searched again, on all rows.
    """
    aside = [name for name in (plan.group, plan.time) if name is not None]
    return Order(
        method=standing.method.name,
        target=plan.target,
        task=plan.task,
        table=replace(plan.table, drop=(*plan.table.drop, *aside)),
        cv=0,
        tune=standing.stage == SEARCHED,
        metric=plan.protocol.metric if standing.stage == SEARCHED else None,
        seed=plan.protocol.seed,
    )


def fit_command(path: Path, order: Order) -> str:
    """Return the command of these options, to be copied."""
    words = ["--target", order.target, "--method", str(order.method)]
    words += ["--tune"] if order.tune else []
    words += ["--metric", order.metric] if order.metric else []
    words += order.table.words
    words += ["--task", order.task] if order.task else []
    words += ["--seed", str(order.seed)] if order.seed else []
    words += ["--out", "model.pliant"] if order.method not in NOT_SAVED else []
    typed = " ".join(shlex.quote(printable(each, 200)) for each in words)
    return f"{program()} fit {word(path)} {typed}"


def fit_best(plan: Plan, result: ComparisonResult) -> dict[str, Any] | None:
    """Fit the method to use on all rows and save it; None where no method can be recommended.

    Raises
    ------
    ValueError
        If a model file cannot hold what the method learns.
    """
    advice = result.recommendation()
    if advice is None:
        return None
    return train(plan.tables[0], order_of(plan, advice.standing), plan.out)
