"""The report of a comparison: one HTML file that needs nothing else.

`markup` escapes what is shown, `view` asks a result what several sections need, each group of
sections is a module of its own, and `page` puts them together.
"""

from pliant.comparison.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
