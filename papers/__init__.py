"""The papers' tables, measured again: one framework, one declaration for each study.

``python -m papers list`` names the studies, ``python -m papers run NAME --data DIR`` measures one
and shows each cell as *paper / measured*. The parts: what is data (`data`, with the sets, printed
numbers, texts and reasons in files), the rows of a repeat (`sample`), who competes (`contestants`),
a study and one measurement (`study`), the cache and the document (`runner`), its numbers and tests
(`results`), the pages (`page`), each study (`studies`), and all of it on one page (`overview`, with
`beside` and `agreement`). `figures` has the papers' figures, `theory` bounds from DANK's paper.
"""
