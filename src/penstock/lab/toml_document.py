"""A TOML file with the line of each key, and override layers on top of it.

A profile, a variant and `--set` each override some keys: each is a layer. The last
layer that sets a key determines its value and the location that errors name. Knows
nothing of what keys mean.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from penstock.kernel.errors import UsageError

KeyPath: TypeAlias = tuple[str | int, ...]
Tree: TypeAlias = dict[str, Any]

# A step of a path for a table key that msgspec does not name.
ANY_KEY: Final = "..."

_TABLE: Final = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")
_PART: Final = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_STEP: Final = re.compile(r"\.([\w-]+)|\[(\d+)\]|\[(\.\.\.)\]")


@dataclass(frozen=True, slots=True)
class _Layer:
    """Overrides, and where they were written: a path in the file, or a label."""

    tree: Tree
    prefix: KeyPath
    label: str = ""


@dataclass(frozen=True, slots=True)
class TomlDocument:
    """A file and its override layers, the last one on top."""

    name: str
    lines: Mapping[KeyPath, int]
    layers: tuple[_Layer, ...]

    @property
    def tree(self) -> Tree:
        """The merged tree of all layers."""
        merged: Tree = {}
        for layer in self.layers:
            merged = _merged(merged, layer.tree)
        return merged

    def with_table(self, *path: str) -> TomlDocument:
        """Adds a table of the file itself as a layer: a profile or a variant."""
        part: Any = self.layers[0].tree
        for step in path:
            part = part.get(step, {})
        return self._with_layer(_Layer(part, path))

    def with_override(self, text: str) -> TomlDocument:
        """Adds `key=value` as a layer; the value is TOML, and a bare word is text."""
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set takes key=value, as in run.duration_s=30, not {text!r}")
        try:
            tree = tomllib.loads(f"{key.strip()} = {value.strip()}")
        except tomllib.TOMLDecodeError:
            try:
                quoted = value.strip().replace("\\", "\\\\").replace('"', '\\"')
                tree = tomllib.loads(f'{key.strip()} = "{quoted}"')
            except tomllib.TOMLDecodeError:
                raise UsageError(f"--set {text}: {key.strip()!r} is no key") from None
        return self._with_layer(_Layer(tree, (), f"--set {text}"))

    def with_tree(self, tree: Tree, label: str) -> TomlDocument:
        """Adds a tree as a layer, which errors call `label`."""
        return self._with_layer(_Layer(tree, (), label))

    def location(self, path: KeyPath) -> str:
        """Where `path`, or its nearest parent that was written, stands: file and line, or label."""
        for layer in reversed(self.layers):
            depth = _depth(layer.tree, path)
            if not depth:
                continue
            if layer.label:
                return layer.label
            # A layer that has only a parent of `path` gives way to a lower one that has all of it.
            if depth == len(path) or layer is self.layers[0]:
                return self._line((*layer.prefix, *path))
        return self._line(path)

    def error(self, path: KeyPath, message: str) -> UsageError:
        """An error that names the location of `path`."""
        return UsageError(f"{self.location(path)}: {message}")

    def _line(self, path: KeyPath) -> str:
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines[path]}" if path else self.name

    def _with_layer(self, layer: _Layer) -> TomlDocument:
        return TomlDocument(self.name, self.lines, (*self.layers, layer))


def read_document(path: Path, name: str | None = None) -> TomlDocument:
    """Reads a TOML file; `name` is what errors call it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}") from None
    return parse_document(text, name or str(path))


def parse_document(text: str, name: str) -> TomlDocument:
    """Parses TOML text; `name` is what errors call it."""
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{name}: nested too deep to be an experiment") from None
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        location = name
        if (found := re.search(r"\(at line (\d+), column \d+\)", message)) is not None:
            location = f"{name}:{found[1]}"
            message = message.replace(found[0], "").strip()
        raise UsageError(f"{location}: not TOML: {message}") from None
    return TomlDocument(name, find_lines(text), (_Layer(tree, ()),))


def find_lines(text: str) -> dict[KeyPath, int]:
    """The line number of every table and key that starts a line."""
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line_number, line in enumerate(text.splitlines(), start=1):
        if (head := _TABLE.fullmatch(line)) is not None:
            table = tuple(_key_parts(head[2]))
            if head[1] == "[[":
                index = counts[table] = counts.get(table, -1) + 1
                lines.setdefault(table, line_number)
                table = (*table, index)
            lines[table] = line_number
        elif (key := _KEY.match(line)) is not None:
            path = table
            for part in _key_parts(key[1]):
                path = (*path, part)
                lines.setdefault(path, line_number)
    return lines


def parse_key_path(text: str) -> KeyPath:
    """Parses `$.clients.slow.at[0]` (as msgspec writes it) or `clients.slow.at[0]`.

    A key that msgspec does not name becomes the step `ANY_KEY`.
    """
    steps = _STEP.findall(text if text.startswith(("$", "[")) else f".{text}")
    return tuple(int(index) if index else name or any_key for name, index, any_key in steps)


def dotted_key(path: KeyPath) -> str:
    """Formats a key path as `clients.slow.at[0]`."""
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path).lstrip(".")


def _key_parts(text: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(text)]


def _depth(tree: Any, path: KeyPath) -> int:
    """The number of steps of `path` that exist in `tree`."""
    for depth, step in enumerate(path):
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(path)


def _merged(lower: Tree, upper: Tree) -> Tree:
    """Merges tables key by key; replaces other values, and tables of another `kind`."""
    result = dict(lower)
    for key, value in upper.items():
        below = result.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            other_kind = "kind" in value and value["kind"] != below.get("kind")
            result[key] = value if other_kind else _merged(below, value)
        else:
            result[key] = value
    return result
