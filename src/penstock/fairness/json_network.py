"""Reads a network from JSON: see docs/effairness.md. Errors name the place of the fault."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any, Final

from penstock.fairness.network import Link, Network, Receiver, Sender, Session
from penstock.kernel.errors import UsageError

# Required and optional members of each object.
EDGE: Final = ("capacity", "delay")
NETWORK: Final = ("links", "sessions"), ()
LINK: Final = ("from", "to"), EDGE
SESSION: Final = ("id", "sender", "receivers"), ()
SENDER: Final = ("host",), ("id", *EDGE)
RECEIVER: Final = ("id", "host", "join", "leave", "data"), EDGE


def from_document(document: object) -> Network:
    """Builds a network from decoded JSON."""
    members = _members(document, "the network", *NETWORK)
    links = _each(members["links"], "links")
    sessions = _each(members["sessions"], "sessions")
    return Network(
        tuple(_link(link, where) for where, link in links),
        tuple(_session(session, where) for where, session in sessions),
    )


def _link(value: object, where: str) -> Link:
    members = _members(value, where, *LINK)
    return Link(start=members["from"], end=members["to"], **_edge(members))


def _session(value: object, where: str) -> Session:
    members = _members(value, where, *SESSION)
    sender = _members(members["sender"], f"{where}: sender", *SENDER)
    receivers = _each(members["receivers"], f"{where}: receivers")
    return Session(
        id=members["id"],
        sender=Sender(host=sender["host"], **_edge(sender)),
        receivers=tuple(_receiver(receiver, place) for place, receiver in receivers),
    )


def _receiver(value: object, where: str) -> Receiver:
    members = _members(value, where, *RECEIVER)
    required = {name: members[name] for name in RECEIVER[0]}
    return Receiver(**required, **_edge(members))


def _edge(members: dict[str, Any]) -> dict[str, Any]:
    """Capacity and delay; an absent or null capacity is unlimited."""
    capacity = members.get("capacity")
    return {"capacity": inf if capacity is None else capacity, "delay": members.get("delay", 0.0)}


def _members(
    value: object, where: str, needed: tuple[str, ...], allowed: tuple[str, ...]
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} is an object with {', '.join(needed)}")
    for name in needed:
        if name not in value:
            raise UsageError(f"{where}: {name!r} is missing")
    for name in value:
        if name not in needed and name not in allowed:
            # Unknown names are refused: a misspelt capacity would be unlimited.
            known = ", ".join((*needed, *allowed))
            raise UsageError(f"{where}: {str(name)[:40]!r} means nothing here; known are {known}")
    return value


def _each(value: object, where: str) -> Iterable[tuple[str, object]]:
    if not isinstance(value, list):
        raise UsageError(f"{where} is a list")
    return ((f"{where}[{number}]", item) for number, item in enumerate(value))
