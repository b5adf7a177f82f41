"""The papers' tables, measured again: one command for each.

``python -m papers NAME --data DIR`` measures what the table NAME needs and shows each
cell as *paper / measured*. The parts: what the papers print (`printed`), their data sets (`sets`),
how a set is split and scaled (`protocol`), who competes (`contestants`), how each chooses its
parameters (`tuning`), one measurement and its cache (`study`, `cache`), and the tables (`tables`,
`scores`, `rendering`). TKL's tables have other splits and other peers: see `accuracy`.
"""
