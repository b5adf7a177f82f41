"""Compare methods on a table: cross-validation, a race for a budget, a blend, a report.

`comparing` has `pliant.compare` and `pliant.fit`: they evaluate methods fold by fold (`race`,
`cells`), learn the weights of a blend (`blend`), and return a `ComparisonResult` (`result`), which
fits models and writes a report (`page`).
"""
