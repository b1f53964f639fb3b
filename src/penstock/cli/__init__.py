"""The command line: one file per command, listed in `main.COMMANDS`.

A command's module is imported when the command is named, and imports what it
needs when it is called, so that the shell stays quick.
"""

import typer


def new_app(help_text: str) -> typer.Typer:
    """An application with the settings all commands share; text after `\\b` keeps its lines."""
    return typer.Typer(
        help=help_text,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
