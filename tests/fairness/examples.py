"""Networks that others have judged before: the paper's, and one where the two ideals part."""

from __future__ import annotations

from typing import Any

from penstock.fairness.json_network import from_document
from penstock.fairness.network import Network

# Examples 1 to 4 of 001. Link hb is shared; sender v sends at 4 Mbit/s at most.
PAPER: dict[str, Any] = {
    "links": [
        {"from": "h", "to": "b", "capacity": 2, "delay": 5},
        {"from": "b", "to": "g", "capacity": 100, "delay": 10},
        {"from": "h", "to": "p", "capacity": 1, "delay": 2},
    ],
    "sessions": [
        {
            "id": "nu",
            "sender": {"host": "h", "delay": 2},
            "receivers": [
                {"id": "z", "host": "g", "delay": 2, "join": 119, "leave": 725, "data": 900},
            ],
        },
        {
            "id": "mu",
            "sender": {"host": "h", "capacity": 4},
            "receivers": [
                {"id": "x", "host": "p", "delay": 1, "join": 3, "leave": 526, "data": 500},
                {"id": "w", "host": "g", "delay": 1, "join": 16, "leave": 541, "data": 500},
            ],
        },
    ],
}


def paper() -> Network:
    return from_document(PAPER)


def separating() -> Network:
    """One long session over two links, and a short one on each."""
    sessions = {
        "L": ("A", "C", 30, 2030),
        "S1": ("A", "B", 110, 1110),
        "S2": ("B", "C", 30, 1030),
    }
    return from_document(
        {
            "links": [
                {"from": "A", "to": "B", "capacity": 2, "delay": 10},
                {"from": "B", "to": "C", "capacity": 2, "delay": 20},
            ],
            "sessions": [
                {
                    "id": f"session {name}",
                    "sender": {"host": start},
                    "receivers": [
                        {"id": name, "host": end, "join": join, "leave": leave, "data": 1000}
                    ],
                }
                for name, (start, end, join, leave) in sessions.items()
            ],
        }
    )


def network(
    links: list[tuple[str, str, float | None, float]],
    sessions: dict[str, tuple[str, dict[str, tuple[str, float, float, float]]]],
) -> Network:
    """Links as (from, to, capacity, delay), receivers as (host, join, leave, data)."""
    names = ("host", "join", "leave", "data")
    return from_document(
        {
            "links": [
                dict(zip(("from", "to", "capacity", "delay"), link, strict=True)) for link in links
            ],
            "sessions": [
                {
                    "id": session,
                    "sender": {"host": host},
                    "receivers": [
                        {"id": id_, **dict(zip(names, facts, strict=True))}
                        for id_, facts in receivers.items()
                    ],
                }
                for session, (host, receivers) in sessions.items()
            ],
        }
    )
