"""`penstock stream`: guaranteed streams, on disk and delivered once; a file for each command."""

from penstock.cli import new_app
from penstock.cli.stream import (
    broker,
    check,
    create,
    delete,
    durables,
    forget,
    listing,
    parked,
    publish,
    seek,
    status,
    subscribe,
)

app = new_app(
    """Guaranteed streams: every message on disk, once and in order.

    \b
    Example:
      penstock stream broker --directory streams
      penstock stream publish orders '{"symbol": "IBM", "qty": 100}' --create
      penstock stream subscribe orders 'qty >= 100' --durable billing --start first
    """
)

# In the order of the help.
app.command()(broker.broker)
app.command()(publish.publish)
app.command()(subscribe.subscribe)
app.command("list")(listing.list_streams)
app.command()(create.create)
app.command()(delete.delete)
app.command()(durables.durables)
# So that -2h is so far back, and neither an option nor a cry for help.
app.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
)(seek.seek)
app.command()(parked.parked)
app.command()(forget.forget)
app.command()(check.check)
app.command()(status.status)
