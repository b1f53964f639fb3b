"""Finds and reads experiment files, and reports errors in them with file and line.

An experiment is found by its id or by the path of its file. A profile, a variant
and `--set` override its keys in this order; the merged result is then checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

import penstock
from penstock.kernel.errors import UsageError
from penstock.lab.builders.channel import check_kind_of_network
from penstock.lab.experiment import Experiment
from penstock.lab.result_names import result_names
from penstock.lab.toml_document import (
    ANY_KEY,
    KeyPath,
    TomlDocument,
    Tree,
    dotted_key,
    parse_key_path,
    read_document,
)

_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]*)`(?: - at `([^`]*)`)?")
_MISSING: Final = re.compile(r"Object missing required field `([^`]*)`(?: - at `([^`]*)`)?")
_OTHER: Final = re.compile(r"(.*?)(?: - at `([^`]*)`)?$", re.S)


@dataclass(frozen=True)
class ExperimentFile:
    """An experiment file before a profile and a variant are chosen."""

    document: TomlDocument

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment as written, without profile and variant."""
        return check_experiment(self.document)

    def resolve(
        self,
        profile: str,
        variant: str,
        overrides: Sequence[str] = (),
        mutation: tuple[str, Tree] | None = None,
        metrics: Sequence[str] = (),
    ) -> tuple[Experiment, TomlDocument]:
        """Merges the file, the profile, the variant and the caller's overrides, and checks it.

        `metrics` are measured beside those of the file.
        """
        self._check_choice("profile", profile, self.experiment.profiles)
        self._check_choice("variant", variant, self.experiment.variants)
        document = self.document.with_table("profiles", profile).with_table("variants", variant)
        for text in overrides:
            document = document.with_override(text)
        if mutation is not None:
            document = document.with_tree(mutation[1], f"{self.document.name}: {mutation[0]}")
        if metrics:
            chosen = [*check_experiment(document).measure.metrics, *metrics]
            tree = {"measure": {"metrics": list(dict.fromkeys(chosen))}}
            document = document.with_tree(tree, f"--metric {metrics[-1]}")
        return check_experiment(document), document

    def _check_choice(self, what: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        if name not in names:
            raise UsageError(
                f"{self.document.name} has no {what} {name!r}: choose from {', '.join(names)}"
            )


def check_experiment(document: TomlDocument) -> Experiment:
    """Converts a document to an experiment; raises a UsageError that names the faulty key."""
    try:
        experiment = msgspec.convert(document.tree, Experiment)
    except msgspec.ValidationError as error:
        raise _explain(document, str(error)) from None
    check_kind_of_network(experiment, document)
    for name, group in experiment.clients.items():
        markets = list(group.subscribe)
        if group.publish is not None:
            markets.append(group.publish.market)
        for market in markets:
            if market not in experiment.markets:
                raise document.error(
                    ("clients", name),
                    f"there is no market {market!r}: choose from {', '.join(experiment.markets)}",
                )
    for name, variant in experiment.variants.items():
        if "seeds" in variant:
            raise document.error(
                ("variants", name, "seeds"), "all variants run with the same seeds: say it above"
            )
    if experiment.transport is not None and not experiment.orderings:
        raise document.error(
            ("transport",), "without orderings clients have no transport: write [orderings]"
        )
    if "" in experiment.measure.phases:
        raise document.error(
            ("measure", "phases"), "a phase has no name, as the whole run has none: write one"
        )
    names = result_names(experiment)
    for index, expectation in enumerate(experiment.expect):
        for profile in expectation.profiles:
            if profile not in experiment.profiles:
                raise document.error(
                    ("expect", index, "profiles"),
                    f"there is no profile {profile!r}:"
                    f" choose from {', '.join(experiment.profiles)}",
                )
        for compared in filter(None, (expectation.variant, expectation.ratio_to)):
            if compared not in names:
                raise document.error(
                    ("expect", index),
                    f"there is no variant {compared!r}: choose from {', '.join(names)}",
                )
    return experiment


def experiments_directory() -> Path:
    """The directory of the papers' experiments: in the wheel, or beside the sources."""
    package = Path(penstock.__file__).parent
    installed = package / "lab" / "experiments"
    return installed if installed.is_dir() else package.parents[1] / "experiments"


def catalogue() -> dict[str, ExperimentFile]:
    """All experiments by id, ordered by file name."""
    found: dict[str, ExperimentFile] = {}
    for path in sorted(experiments_directory().glob("*.toml"), key=lambda path: path.stem):
        experiment_file = ExperimentFile(read_document(path, f"experiments/{path.name}"))
        found[experiment_file.experiment.id] = experiment_file
    return found


def find_experiment(name: str) -> ExperimentFile:
    """Finds an experiment by its id, by the id of another that it reproduces, or by path."""
    if name.endswith(".toml") or "/" in name:
        return ExperimentFile(read_document(Path(name)))
    known = catalogue()
    for experiment_file in known.values():
        if name in (experiment_file.experiment.id, *experiment_file.experiment.ids):
            return experiment_file
    every = [id_ for s in known.values() for id_ in (s.experiment.id, *s.experiment.ids)]
    near = get_close_matches(name, every, n=1)
    hint = f"did you mean {near[0]}?" if near else "'penstock lab list' shows all."
    raise UsageError(
        f"there is no experiment {name!r}: {hint} A file of your own is given by its path,"
        " as in ./mine.toml"
    )


def _explain(document: TomlDocument, error: str) -> UsageError:
    """Turns an error of msgspec into one that names the line and says what to write instead."""
    if (unknown := _UNKNOWN.match(error)) is not None:
        above = _resolve_path(document, error, unknown[2])
        path = (*above, unknown[1])
        allowed = _keys_at(document, above)
        near = get_close_matches(unknown[1], allowed, n=1)
        advice = f"did you mean {near[0]}? " if near else ""
        return document.error(
            path, f"{dotted_key(path)} is no key: {advice}here may stand {', '.join(allowed)}"
        )
    if (missing := _MISSING.match(error)) is not None:
        above = _resolve_path(document, error, missing[2])
        return document.error(
            above, f"{dotted_key((*above, missing[1]))} is missing: it has no default, write it"
        )
    other = _OTHER.match(error)
    assert other is not None
    path = _resolve_path(document, error, other[2])
    value = _value_at(document.tree, path)
    choices = _choices(document, path)
    advice = f"choose from {', '.join(choices)}" if choices else _plain_text(other[1])
    return document.error(path, f"{dotted_key(path)} = {value!r}: {advice}")


def _resolve_path(document: TomlDocument, error: str, where: str | None) -> KeyPath:
    """The key path of an error; a key that msgspec does not name is found by trying each."""
    path = parse_key_path(where or "$")
    while ANY_KEY in path:
        depth = path.index(ANY_KEY)
        for key in _value_at(document.tree, path[:depth]):
            try:
                msgspec.convert(_with_only(document.tree, path[:depth], key), Experiment)
            except msgspec.ValidationError as again:
                if str(again) == error:
                    path = (*path[:depth], key, *path[depth + 1 :])
                    break
        else:
            return path[:depth]
    return path


def _with_only(tree: Any, path: KeyPath, key: str) -> Any:
    """A copy of the tree in which the table at `path` has only this key."""
    if not path:
        return {key: tree[key]}
    return {**tree, path[0]: _with_only(tree[path[0]], path[1:], key)}


def _plain_text(message: str) -> str:
    message = message.replace("`", "")
    if not message.startswith("Expected "):
        return message[:1].lower() + message[1:]
    expected, _, got = message.removeprefix("Expected ").partition(", got ")
    # A number that is not whole stands in the message: that it is one need not be said.
    is_said = not got or got == "float"
    return f"write {_in_words(expected)}" + ("" if is_said else f", not {_in_words(got)}")


def _in_words(types: str) -> str:
    types = re.sub(r"\bint \| float\b|\bfloat \| int\b|\bfloat\b", "a number", types)
    types = re.sub(r"\bint\b", "a whole number", types)
    types = re.sub(r"\bstr\b", "text", re.sub(r"\bobject\b", "a table", types))
    return re.sub(r"\barray\b", "a list", types.replace("|", "or"))


def _value_at(tree: Any, path: KeyPath) -> Any:
    for step in path:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def _keys_at(document: TomlDocument, path: KeyPath) -> list[str]:
    """The keys that are allowed in the table at `path`."""
    kind = _type_at(document, path)
    return [] if kind is None else list(kind.__struct_fields__)


def _type_at(document: TomlDocument, path: KeyPath) -> Any:
    """The schema type of the table at `path`; None if there is none."""
    kind: Any = Experiment
    tree: Any = document.tree
    for step in path:
        tree = _value_at(tree, (step,))
        kind = _child_type(kind, step, tree)
        if kind is None:
            return None
    return kind if hasattr(kind, "__struct_fields__") else None


def _choices(document: TomlDocument, path: KeyPath) -> list[str]:
    """The values allowed at `path` if its type is a Literal, otherwise none."""
    if not path or not isinstance(path[-1], str):
        return []
    kind = _type_at(document, path[:-1])
    hint = get_type_hints(kind).get(path[-1]) if kind is not None else None
    return list(get_args(hint)) if get_origin(hint) is Literal else []


def _child_type(kind: Any, step: str | int, tree: Any) -> Any:
    """The type of the table one step down; of a union, the one with the file's `kind`."""
    if hasattr(kind, "__struct_fields__"):
        hint = get_type_hints(kind).get(str(step))
    else:
        hint = (get_args(kind) or (None,))[-1]
    options = [option for option in (hint, *get_args(hint)) if _is_table(option)]
    kind_key = tree.get("kind") if isinstance(tree, dict) else None
    for option in options:
        config = getattr(option, "__struct_config__", None)
        if config is not None and config.tag is not None and config.tag == kind_key:
            return option
    return options[0] if options else None


def _is_table(option: Any) -> bool:
    return hasattr(option, "__struct_fields__") or getattr(option, "__origin__", None) in {
        dict,
        list,
    }
