"""Options that all commands of casts have, and how they are read."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.cast.lan_sockets import LanAddress

InterfaceOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Of this machine, on the network of the others.",
        show_default="the system's choice",
    ),
]
GroupOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS:PORT",
        help="Where senders are announced; the same for all that are to meet.",
    ),
]
InsecureOption: TypeAlias = Annotated[
    bool,
    typer.Option("--insecure", help="In the clear: who is on the network may read and forge."),
]
INTERFACE = ""
# Copies of values in live.cast.lan_sockets, so that --help need not import it.
GROUP = "239.255.74.52:7452"
# A symbol takes a tenth of a second then; 2^32 milliseconds are 49 days.
_RATE_MIN_BITS_PER_S: Final = 100_000
_WAIT_MAX_NS: Final = 7 * 86_400 * 10**9


def lan_of(interface: str, group: str) -> LanAddress:
    """The network that the options name."""
    from penstock.live.cast.lan_sockets import LanAddress, check_interface

    host, _, port = group.rpartition(":")
    try:
        if not ipaddress.IPv4Address(host).is_multicast or not 0 < int(port) < 1 << 16:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--group {group!r} is no multicast group: write one such as {GROUP}"
        ) from None
    if interface:
        try:
            ipaddress.IPv4Address(interface)
        except ValueError:
            raise UsageError(
                f"--interface {interface!r} is no address of a machine: write one such as 10.0.0.5"
            ) from None
    lan = LanAddress(host, int(port), interface or "0.0.0.0")
    check_interface(lan)
    return lan


def check_item(text: str) -> None:
    """Refuses what is no item, or no name that receivers may give to a file."""
    from penstock.bloomcast.item_names import split_item
    from penstock.live.cast.receiving_target import check_name

    if not text.isprintable():
        raise UsageError(f"{text!r} has characters that cannot be printed: use --as NAME")
    if any(part in (".", "..") for part in text.split("/")):
        raise UsageError(f"{text!r} is no item: write NAME or SCOPE/NAME, without . and ..")
    check_name(split_item(text)[1])


def name_in(text: str) -> str:
    """Of ITEM[:TICKET] the item: a ticket is a secret."""
    from penstock.live.cast.ticket import split_ticket

    try:
        return split_ticket(text)[0]
    except UsageError:
        return text.rpartition(":")[0]


def seconds_of(name: str, text: str) -> float:
    """A duration of up to a week."""
    from penstock.api.units import duration_ns
    from penstock.kernel.instant import to_seconds

    return to_seconds(duration_ns(name, text, high_ns=_WAIT_MAX_NS, example="30s"))


def bytes_per_s(name: str, text: str | None) -> int | None:
    """A rate; None if there is none."""
    from penstock.api.units import bit_rate, quoted

    if text is None:
        return None
    try:
        rate = bit_rate(name, text)
    except UsageError:
        rate = 0
    if rate < _RATE_MIN_BITS_PER_S:
        raise UsageError(
            f"{name} is a rate of 100kbit/s or more, not {quoted(text)}: write one such as"
            ' "100Mbit/s" or "10MB/s"'
        )
    return rate // 8
