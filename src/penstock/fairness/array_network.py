"""Builds a network from columns, as a pipeline step has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from penstock.fairness.json_network import from_document
from penstock.fairness.network import Network
from penstock.kernel.errors import UsageError

# Values by column name: lists, arrays, or columns of a data frame, all of the same length.
Columns: TypeAlias = Mapping[str, Iterable[Any]]

NAMES = frozenset({"from", "to", "id", "host", "session"})


def from_columns(links: Columns, sessions: Columns, receivers: Columns) -> Network:
    """Builds a network; `sessions` has `id`, and its sender's `host`, `capacity` and `delay`.

    `links` and `receivers` have columns named as in JSON, `receivers` also `session`.
    Capacities and delays may be left out. Names may be numbers. Sessions and receivers keep
    their order, except that receivers are grouped by session.
    """
    members: dict[str, list[dict[str, Any]]] = {}
    documents = []
    for row in _rows(sessions, "sessions"):
        receiving = members.setdefault(row.get("id", ""), [])
        documents.append({"id": row.pop("id", None), "sender": row, "receivers": receiving})
    for row in _rows(receivers, "receivers"):
        session = row.pop("session", None)
        if session not in members:
            raise UsageError(
                f"receiver {row.get('id')!r}: there is no session {session!r}: add it to sessions"
            )
        members[session].append(row)
    return from_document({"links": _rows(links, "links"), "sessions": documents})


def _rows(columns: Columns, what: str) -> list[dict[str, Any]]:
    lists = {
        name: [str(value) for value in values] if name in NAMES else list(values)
        for name, values in columns.items()
    }
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"{name} {len(values)}" for name, values in lists.items())
        raise UsageError(f"the columns of {what} are not as long as each other: {lengths}")
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
