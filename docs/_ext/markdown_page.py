"""A directive that renders Markdown files of the repository.

    .. markdown:: ../benchmarks/results/*.md
       :missing: text if no file matches

With ``:inside:`` the title of a file is left out, and with ``:start:`` its sections. With
``:only: NAME`` only the content of the section NAME remains, and the sections with a title
that starts with NAME and "," or ":".

Links to other pages of the documentation, and to stored results, lead to their pages here.

It supports only the Markdown of these files: headings, paragraphs, bullet lists, tables with pipes,
images, code, emphasis and links. A table cell with a verdict in bold, such as **worse**, gets
a class of that name, which sets its colour.
"""

import html
import os
import re
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|\[(?P<text>[^]]+)\]\((?P<url>[^)]+)\)"
    r"|\*(?P<emphasis>[^*\s][^*]*)\*|\\(?P<escaped>.)"
)
BLOCK = re.compile(r"\n\s*\n")
IMAGE = re.compile(r"!\[(?P<alt>[^]]*)\]\((?P<file>[^)]+)\)$")
CELLS = re.compile(r"(?<!\\)\|")
VERDICT = re.compile(r"\*\*(agrees|better|worse|inconclusive|not rerun)\*\*")


def inline(text):
    """Turn a line of Markdown into nodes."""
    found, end = [], 0
    for match in INLINE.finditer(text):
        found += [nodes.Text(html.unescape(text[end : match.start()])), span(match)]
        end = match.end()
    return [*found, nodes.Text(html.unescape(text[end:]))]


def span(match):
    """Return the node of a match of `INLINE`."""
    part = match.groupdict()
    if part["code"]:
        return nodes.literal("", part["code"])
    if part["strong"]:
        return nodes.strong("", part["strong"])
    if part["emphasis"]:
        return nodes.emphasis("", part["emphasis"])
    if part["url"]:
        return link(part["text"], part["url"])
    return nodes.Text(part["escaped"])


def link(text, url):
    """Return a link; the address of a source file of the documentation leads to its page."""
    page = "benchmarks" if url.startswith("benchmarks/results/") else url.removeprefix("docs/")
    if page == url:
        return nodes.reference("", text, refuri=url)
    target = "/" + page.removesuffix(".rst")
    options = {"refdomain": "std", "reftype": "doc", "refexplicit": True, "refwarn": True}
    return pending_xref("", nodes.inline("", text), reftarget=target, **options)


def bullets(block):
    """Return a bullet list; indented lines continue the previous item."""
    items = re.split(r"^[-*] ", block, flags=re.MULTILINE)[1:]
    texts = (" ".join(item.split()) for item in items)
    return nodes.bullet_list(
        "", *(nodes.list_item("", nodes.paragraph("", "", *inline(text))) for text in texts)
    )


def table(block):
    """Return a table; its first line is the header, its second the alignment."""
    head, rule, *body = ([c.strip() for c in CELLS.split(line)[1:-1]] for line in block.split("\n"))
    right = [cell.endswith(":") for cell in rule]
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    group += nodes.thead("", row(head, right))
    group += nodes.tbody("", *(row(cells, right) for cells in body))
    return nodes.table("", group, classes=["table"])


def row(cells, right):
    entries = nodes.row()
    for cell, is_right in zip(cells, right, strict=True):
        classes = ["text-right"] if is_right else []
        classes += [nodes.make_id(f"verdict-{found}") for found in VERDICT.findall(cell)]
        entries += nodes.entry("", nodes.paragraph("", "", *inline(cell)), classes=classes)
    return entries


def document(text, prefix, folder="."):
    """Convert Markdown text into sections; the level of the first heading is the top.

    Image paths are relative to `folder`, which is relative to the page.
    """
    root = nodes.Element()
    stack, top = [root], None
    for block in BLOCK.split(re.sub(r"^(#+ .*)$", r"\n\1\n", text.strip(), flags=re.MULTILINE)):
        heading = re.match(r"(#+) (.*)", block.strip())
        if heading:
            level = len(heading[1])
            top = level if top is None else top
            title = heading[2].strip()
            section = nodes.section(ids=[nodes.make_id(f"{prefix}-{title}")])
            section += nodes.title("", "", *inline(title))
            del stack[max(1, level - top + 1) :]
            stack[-1] += section
            stack.append(section)
        elif block.startswith("|"):
            stack[-1] += table(block.strip())
        elif image := IMAGE.match(block.strip()):
            uri = f"{folder}/{image['file']}"
            stack[-1] += nodes.image(uri=uri, alt=image["alt"])
        elif block.startswith(("- ", "* ")):
            stack[-1] += bullets(block)
        elif block.strip():
            stack[-1] += nodes.paragraph("", "", *inline(" ".join(block.split())))
    return root.children


def about(node, name):
    """Return the content of the section `name`, or a section with a title starting with `name`."""
    title = node.children[0].astext() if isinstance(node, nodes.section) else ""
    if title == name:
        return node.children[1:]
    return [node] if title.startswith((f"{name},", f"{name}:")) else []


class Markdown(SphinxDirective):
    required_arguments = 1
    option_spec: ClassVar = {
        "missing": directives.unchanged,
        "inside": directives.flag,
        "start": directives.flag,
        "only": directives.unchanged_required,
    }

    def run(self):
        here = Path(self.env.doc2path(self.env.docname)).parent
        files = sorted(here.glob(self.arguments[0]))
        if not files:
            return [nodes.paragraph("", self.options.get("missing", f"{self.arguments[0]}: none"))]
        found = []
        for file in files:
            self.env.note_dependency(str(file))
            folder = Path(os.path.relpath(file.parent, here)).as_posix()
            found += document(file.read_text(encoding="utf-8"), file.stem, folder)
        if "inside" in self.options:  # the page has its own title: drop the title of the file
            found = [child for section in found for child in section.children[1:]]
        if "start" in self.options:
            found = [node for node in found if not isinstance(node, nodes.section)]
        if "only" in self.options:
            found = [kept for node in found for kept in about(node, self.options["only"])]
        return found


def setup(app):
    app.add_directive("markdown", Markdown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
