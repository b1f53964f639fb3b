"""`penstock cast`: one file or directory to many machines at once; a file for each command."""

from penstock.cli import new_app
from penstock.cli.cast import receive, send

app = new_app(
    """One file or directory to many machines at once, which all end up with the same bytes.

    How to use it, from the first command to a slow network: docs/guide/casts.md.

    \b
    Example, on one network:
      penstock cast send debian.img --receivers 2
      penstock cast receive debian.img:K7QF2M9XW3TB6HJDPA5C /srv/images
    """
)

app.command()(send.send)
app.command()(receive.receive)
