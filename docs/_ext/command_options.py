"""A directive that lists a command's arguments and options, as its ``--help`` does.

.. command-options:: fit
"""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

HIDDEN = {"help"}


def options(name):
    """Return (usage, help) for each argument and option of a command of ``pliant``."""
    from typer.main import get_command

    from pliant.tables.cli.app import application

    command = get_command(application()).commands[name]
    return [usage(each) for each in command.params if each.name not in HIDDEN]


def usage(parameter):
    """Return the usage of a parameter, and its help with the default."""
    text = " ".join((parameter.help or "").split())
    if parameter.param_type_name == "argument":
        return parameter.metavar or parameter.name.upper(), text
    typed = "/".join([*parameter.opts, *parameter.secondary_opts])
    if not parameter.is_flag:
        typed += f" {parameter.metavar or 'VALUE'}"
    if parameter.required:
        text += " Required."
    elif parameter.show_default and not parameter.is_flag and parameter.default is not None:
        text += f" Default: ``{parameter.default}``."
    return typed, text


class CommandOptions(SphinxDirective):
    required_arguments = 1

    def run(self):
        self.env.note_reread()  # the options change with the code, not with the page
        lines = [".. list-table::", "   :widths: 36 64", ""]
        for typed, text in options(self.arguments[0]):
            lines += [f"   * - ``{typed}``", f"     - {text}"]
        root = nodes.Element()
        self.state.nested_parse(StringList(lines), self.content_offset, root)
        return root.children


def setup(app):
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
