"""Render formulas with MathJax from the package sphinx-mathjax-offline, without the network.

Only the script that draws formulas as SVG is copied. It needs no fonts, so a page opened from a
folder shows its formulas like a page from a server.
"""

from importlib.metadata import PackageNotFoundError, distribution

from sphinx.errors import ExtensionError

PACKAGE = "sphinx-mathjax-offline"
SCRIPT = "tex-svg.js"


def script():
    """Return the path of the script in the installed package."""
    try:
        installed = distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise ExtensionError(
            f"The documentation needs {PACKAGE}: pip install 'pliant[docs]'"
        ) from error
    return installed.locate_file(f"{PACKAGE}/static/mathjax/{SCRIPT}")


def copy_script(app):
    """Copy the script to the static files of the pages."""
    if app.builder.format == "html":
        target = app.outdir / "_static" / SCRIPT
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(script().read_bytes())


def setup(app):
    app.setup_extension("sphinx.ext.mathjax")
    app.config.mathjax_path = SCRIPT
    app.config.mathjax3_config = {"options": {"enableMenu": False}, "svg": {"scale": 0.9}}
    app.connect("builder-inited", copy_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
