"""Link names of pliant without their module, and names of other libraries without inventories.

sphinx.ext.intersphinx reads an inventory from each site, and a build without the network fails.
The URLs of NumPy, SciPy, pandas and scikit-learn follow one pattern each, so the name determines
the URL. Only names that exist in the installed package are linked.
"""

import importlib

from docutils import nodes
from sphinx.util.nodes import make_refnode

PAGES = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{}.html",
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{}.html",
}

OURS = (
    *("pliant", "pliant.exceptions", "pliant.kernels", "pliant.metrics", "pliant.plots"),
    *("pliant.datasets", "pliant.tables"),
)
"""Modules searched for a name without its module, in this order."""


def exists(name):
    """Return True if a dotted name is a module, or an attribute of one."""
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ImportError:
        return False


def address(name):
    """Return the URL of a name's page, or None for names outside these packages."""
    page = PAGES.get(name.partition(".")[0])
    return page.format(name) if page and "." in name and exists(name) else None


def resolve(app, env, node, contnode):
    """Convert a reference that Sphinx cannot resolve into a link."""
    name = node.get("reftarget", "")
    if url := address(name):
        return nodes.reference("", "", contnode, internal=False, refuri=url)
    documented = env.get_domain("py").objects
    for full in (f"{module}.{name}" for module in OURS):
        if full in documented:
            entry = documented[full]
            here = node.get("refdoc", env.docname)
            return make_refnode(app.builder, here, entry.docname, entry.node_id, contnode, full)
    return None


def setup(app):
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
