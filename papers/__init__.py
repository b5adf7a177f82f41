"""The papers' tables and figures, measured again.

``python -m papers list`` names the studies, ``run NAME --data DIR`` measures one, ``pages`` writes
the kept pages from the kept results, and ``figures`` draws the figures. Data are in files: the
studies (`studies.toml`), how each contestant is tuned (`contestants.toml`), how rows are split
(`protocols.toml`), and folders of sets, printed numbers, texts and reasons. The code: `data` reads
these files, `sample` splits rows, `study` measures, `results` tests differences, `page` and
`studies` write a study's page and `overview` compares cell by cell.
"""
