"""The papers' figures, drawn again: ``python -m papers.figures --data DIR``.

One file a figure; each has its setting as fields, and ``draw(folder, data)``, which writes a
picture and returns a caption with what was measured (`figure`). What figures share: samples
(`samples`), cross-validation (`tuning`), decision boundaries (`boundaries`), the comparison of two
regressions (`regression`), the saddle point of TKL with a clock (`saddle`), the measures and panels
of what DANK loses between parts (`parts`, `parts_panels`), and LAB-RBF's functions and settings
(`synthetic`, `lab_settings`).
"""
