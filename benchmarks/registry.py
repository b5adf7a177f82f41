"""The benchmarks by name. Each module states one, as ``BENCHMARK``."""

from __future__ import annotations

from benchmarks import adapted, paths, speed
from benchmarks.harness.spec import Benchmark

__all__ = ["BENCHMARKS"]

BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK for module in (speed, paths, adapted)
}
