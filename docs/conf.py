"""Configure the documentation; the build uses this checkout only, without the network."""

import sys
import tomllib
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder, FileNameSortKey

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from pliant import __version__

project = "pliant"
author = "The pliant developers"
copyright = "The pliant developers"
version = release = __version__
configuration = Path(__file__).parents[1] / "pyproject.toml"
urls = tomllib.loads(configuration.read_text("utf-8"))["project"]["urls"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "local_mathjax",
    "command_options",
    "markdown_page",
    "name_links",
    "plain_docstrings",
]
exclude_patterns = ["_build", "numbers", "**/README.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

GALLERY = [
    "first_steps",
    "learned_kernels",
    "explanations",
    "elsewhere",
    "large_tables",
    "comparing",
]
"""Sections of the gallery, folders of `examples`, in order."""


def larger_text(gallery_conf, example):
    """Enlarge the text of figures so that their thumbnails are readable."""
    from matplotlib import pyplot as plt

    plt.rcParams["font.size"] = 12


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": ExplicitOrder([f"../examples/{name}" for name in GALLERY]),
    "within_subsection_order": FileNameSortKey,
    "reset_modules": ("matplotlib", "seaborn", larger_text),
    "thumbnail_size": (600, 420),
    "backreferences_dir": "gen_modules/backreferences",
    "doc_module": ("pliant",),
    "inspect_global_variables": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "show_memory": False,
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["pliant.css"]
html_title = f"pliant {release}"
html_baseurl = urls["Documentation"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "icon_links": [{"name": "Repository", "url": urls["Repository"], "icon": "fa-solid fa-code"}],
    "navigation_with_keys": False,
    "navigation_depth": 3,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
