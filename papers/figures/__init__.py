"""The papers' figures, drawn again: ``python -m papers.figures --data DIR``.

A `figure.PaperFigure` has its setting as fields; it measures, draws a picture, and puts its numbers
into the caption that captions.toml has for it. Figures that share their measures share a module;
`catalogue` has all of them. What several modules need: `samples`, cross-validation (`tuning`), the
saddle point of TKL with a clock (`saddle`), and LAB-RBF's settings and functions (`lab_settings`).
"""
