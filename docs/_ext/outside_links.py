"""Links to the references of NumPy, SciPy, pandas and scikit-learn, without their inventories.

sphinx.ext.intersphinx reads an inventory from each site, and a build without the network fails.
The pages of these four follow one pattern each, so that a name is enough for its address. The name
is looked up in the installed package first: one that does not exist stays a warning of the build.
"""

import importlib

from docutils import nodes

PAGES = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{}.html",
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{}.html",
}


def exists(name):
    """Whether a dotted name is a module, or an attribute of one."""
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ImportError:
        return False


def address(name):
    """Return the address of a name's page, or None if it is no name of these packages."""
    page = PAGES.get(name.partition(".")[0])
    return page.format(name) if page and "." in name and exists(name) else None


def resolve(app, env, node, contnode):
    """Turn a reference that this documentation cannot resolve into a link to another one."""
    url = address(node.get("reftarget", ""))
    return nodes.reference("", "", contnode, internal=False, refuri=url) if url else None


def setup(app):
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
