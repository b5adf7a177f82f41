"""Framework to declare, run, summarise and report benchmarks."""
