"""The command line: one module per command, listed in `main.COMMANDS`.

A module is imported only when its command is named, and imports what it needs only
when the command runs, so that `--help` and errors are fast.
"""

import typer


def new_app(help_text: str) -> typer.Typer:
    """A Typer application with the settings of all commands; help after `\\b` keeps its lines."""
    return typer.Typer(
        help=help_text,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
