"""The papers' tables and figures, reproduced.

``python -m papers list`` lists the studies, ``run NAME --data DIR`` measures one, ``pages`` writes
the pages of the stored results, and ``figures`` draws the figures. Data are in files: the
studies (`studies.toml`), the tuning of contestants (`contestants.toml`), the splits
(`protocols.toml`), and folders of sets, printed numbers, texts and reasons. The code: `data` reads
these files, `sample` splits rows, `study` measures, `results` tests differences, `page` and
`studies` write a study's page, and `overview` compares the papers cell by cell.
"""
