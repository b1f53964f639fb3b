"""Random networks: trees whose links point either way, and sessions that fit in them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from penstock.fairness.json_network import from_document
from penstock.fairness.network import Network

CAPACITIES = st.one_of(st.integers(1, 6), st.none(), st.sampled_from([0.5, 12, 1000]))
DELAYS = st.integers(0, 6)


@st.composite
def networks(draw: st.DrawFn, *, hosts_max: int = 8, receivers_max: int = 4) -> Network:
    """Sessions reach their receivers by one way, and no links form a cycle."""
    hosts = draw(st.integers(1, hosts_max))
    links: list[dict[str, Any]] = []
    onward: dict[int, list[int]] = {host: [] for host in range(hosts)}
    for host in range(1, hosts):
        pair = [draw(st.integers(0, host - 1)), host]
        # Mostly away from the first, so that sessions meet.
        start, end = pair[::-1] if draw(st.integers(0, 4)) == 0 else pair
        onward[start].append(end)
        links.append(draw(edges()) | {"from": f"h{start}", "to": f"h{end}"})
    sessions = []
    for number in range(draw(st.integers(1, 4))):
        sender = draw(st.integers(0, hosts - 1)) if draw(st.booleans()) else 0
        within = _within_reach(onward, sender)
        receivers = [
            draw(receivers_at(f"r{number}.{place}", within))
            for place in range(draw(st.integers(1, receivers_max)))
        ]
        sessions.append(
            {
                "id": f"s{number}",
                "sender": draw(edges()) | {"host": f"h{sender}"},
                "receivers": receivers,
            }
        )
    return from_document({"links": links, "sessions": sessions})


@st.composite
def edges(draw: st.DrawFn) -> dict[str, Any]:
    return {"capacity": draw(CAPACITIES), "delay": draw(DELAYS)}


@st.composite
def receivers_at(draw: st.DrawFn, name: str, hosts: list[int]) -> dict[str, Any]:
    join = draw(st.integers(0, 25))
    return {
        "id": name,
        "host": f"h{draw(st.sampled_from(hosts))}",
        "join": join,
        "leave": join + draw(st.integers(1, 40)),
        "data": draw(st.integers(0, 30)),
        **(draw(edges()) if draw(st.booleans()) else {}),
    }


def _within_reach(onward: dict[int, list[int]], start: int) -> list[int]:
    found = [start]
    for host in found:
        found += onward[host]
    return found
