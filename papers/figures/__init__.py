"""The papers' figures, drawn again: ``python -m papers.figures --data DIR``.

A `figure.PaperFigure` measures with its setting in settings.toml, draws a picture, and puts its
numbers into the caption that captions.toml has for it. Figures that share their measures share a
module; `catalogue` has all of them. What several modules need: samples and tuning on them
(`samples`), the saddle point of TKL with a clock (`saddle`), and LAB-RBF's settings and functions
(`lab_settings`).
"""
