"""Every table and figure of the papers that can be rerun, on one page.

``python -m benchmarks papers`` makes it. The parts: a number with its spread (`estimate`), a cell
with its verdict (`agreement`), one adapter for each kind of study that turns its document into
cells (`adapters`), why numbers differ (`reason`, `known`, `reasons`) and what has no cell
(`missing`), all of it together (`overview`), tables of cells (`grids`, `averages`), the page in two
forms (`words`, `markdown`, `hypertext`, `pictures`), what a profile measures (`profiles`,
`measuring`), and the command line (`command`). Beside the page stands advice with numbers from the
kept results, which method when (`evidence`, `advice` and what begins so, `decisions`).
"""
