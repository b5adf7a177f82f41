"""The benchmarks by name. Each module states one, or a few that belong together."""

from __future__ import annotations

from benchmarks import (
    adapted,
    local_costs,
    local_fit,
    local_gradient,
    local_large,
    log_det,
    paths,
    scale,
    scale_growth,
    search_sharing,
    spectral_order,
    speed,
    supervised_closed,
    supervised_growth,
    supervised_large,
    tessellated,
    tessellated_gaps,
    tessellated_gram,
    tessellated_large,
    tessellated_sdp,
)
from benchmarks.harness.spec import Benchmark

__all__ = ["BENCHMARKS"]

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        speed.BENCHMARK,
        paths.BENCHMARK,
        adapted.BENCHMARK,
        tessellated.BENCHMARK,
        tessellated.LARGE_C,
        tessellated_gaps.BENCHMARK,
        tessellated_gram.BENCHMARK,
        tessellated_large.BENCHMARK,
        tessellated_sdp.BENCHMARK,
        local_gradient.BENCHMARK,
        local_fit.BENCHMARK,
        local_large.BENCHMARK,
        local_costs.BENCHMARK,
        log_det.BENCHMARK,
        spectral_order.BENCHMARK,
        supervised_closed.BENCHMARK,
        supervised_large.BENCHMARK,
        supervised_growth.BENCHMARK,
        scale.BENCHMARK,
        scale_growth.BENCHMARK,
        search_sharing.BENCHMARK,
    )
}
