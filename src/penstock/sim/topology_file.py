"""Reads a topology from a TOML or JSON file: edges, and the properties of their links.

    nodes = ["B1", "B2"]      # optional: the order of nodes, by default that of the edges

    [link]                    # optional: for every edge that does not say otherwise
    delay_ms = 50

    [[edge]]
    between = ["B1", "B2"]
    rate_mbps = 10

In JSON `edge` is a list of objects. Errors name the file, the line if it is known, and what to
write instead.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from penstock.kernel.errors import UsageError
from penstock.sim.link_spec import LinkSpec, link_spec
from penstock.sim.topology import Edge, Topology


class _LinkRow(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    rate_mbps: float | None = None
    delay_ms: float | None = None
    jitter_ms: float | None = None
    loss: float | None = None
    loss_burst: float | None = None
    queue_bytes: int | None = None


class _EdgeRow(_LinkRow, kw_only=True):
    between: tuple[str, str]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    edge: list[_EdgeRow]
    nodes: list[str] = []
    link: _LinkRow | None = None


def read_topology(path: Path) -> Topology:
    """Reads `path`; a name ending in .json is JSON, any other TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}") from None
    is_json = path.suffix == ".json"
    try:
        file = (msgspec.json if is_json else msgspec.toml).decode(text.encode(), type=_File)
    except msgspec.DecodeError as error:
        raise UsageError(f"{_location(path, text, str(error))}: {_advice(str(error))}") from None
    edges = []
    for index, row in enumerate(file.edge):
        try:
            one, other = row.between
            edges.append(Edge(one, other, _spec(row, file.link)))
        except UsageError as error:
            raise UsageError(f"{_location(path, text, f'$.edge[{index}]')}: {error}") from None
    named = [*file.nodes] or [*dict.fromkeys(end for row in file.edge for end in row.between)]
    try:
        return Topology(tuple(named), tuple(edges))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _spec(row: _LinkRow, default: _LinkRow | None) -> LinkSpec | None:
    """The row's values over the file's defaults; None if neither gives any."""
    given = {**_given_values(default), **_given_values(row)}
    if not given:
        return None
    if "loss_burst" in given and "loss" not in given:
        raise UsageError("loss_burst says how long bursts are: write loss too, how many are lost")
    return link_spec(**given)  # type: ignore[arg-type]


def _given_values(row: _LinkRow | None) -> dict[str, float]:
    if row is None:
        return {}
    values = {name: getattr(row, name) for name in _LinkRow.__struct_fields__}
    return {name: value for name, value in values.items() if value is not None}


def _location(path: Path, text: str, error: str) -> str:
    """`file:line` of the edge or of the syntax error that `error` names; else only the file."""
    if (edge := re.search(r"\$\.edge\[(\d+)\]", error)) is not None:
        heads = [m.start() for m in re.finditer(r"^\s*\[\[\s*edge\s*\]\]|\"between\"", text, re.M)]
        if int(edge[1]) < len(heads):
            start = heads[int(edge[1])]
            start += len(text[start:]) - len(text[start:].lstrip())
            return f"{path}:{text.count(chr(10), 0, start) + 1}"
    if (line := re.search(r"at line (\d+)", error)) is not None:
        return f"{path}:{line[1]}"
    return str(path)


def _advice(error: str) -> str:
    if "unknown field" in error:
        keys = ", ".join(["between", *_LinkRow.__struct_fields__])
        return f"{error}; an edge may have {keys}, and the file nodes, link, edge"
    if "missing required field `edge`" in error:
        return 'it has no edges: write [[edge]] and between = ["B1", "B2"] for each link'
    return error
