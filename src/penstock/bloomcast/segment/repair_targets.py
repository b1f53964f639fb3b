"""Who is sent which repairs of a round: the ends that need them, and nobody else.

The first symbols of a block that are made by the code go to all who need any of it, later ones to
those who need more. A source symbol that is sent again, an *exact* repair, goes to those who list
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.bloomcast.segment.end_table import EndTable
from penstock.bloomcast.segment.missing import exact_max, size_of, union_of
from penstock.bloomcast.segment.repair_count import with_margin
from penstock.bloomcast.segment.round_table import RoundTable
from penstock.bloomcast.settings import PublisherSettings
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.cast.transfer import RepairChoice


class Piece(NamedTuple):
    """Symbols of a train, by place, that the same ends still need."""

    start: int
    stop: int
    ends: tuple[int, ...]


class ExactPiece(NamedTuple):
    """Source symbols that the same ends list."""

    numbers: tuple[int, ...]
    ends: tuple[int, ...]


class Exact(NamedTuple):
    """Of one block: the symbols that are sent again."""

    ranges: IntervalSet
    # Whether these are all that anybody lacks.
    is_all: bool


class RepairTargets:
    """Of one head."""

    def __init__(self, rounds: RoundTable, ends: EndTable, settings: PublisherSettings) -> None:
        self._rounds: Final = rounds
        self._ends: Final = ends
        self._settings: Final = settings
        # By round and block: ends by how many symbols they still take, ascending.
        self._targets: Final[dict[tuple[int, int], list[tuple[int, int]]]] = {}
        # By round and block, as well.
        self._exact: Final[dict[tuple[int, int], Exact]] = {}

    def clear(self) -> None:
        """Somebody has said something new, or is new, or has left."""
        self._targets.clear()
        self._exact.clear()

    # By code.

    def target(self, round_: int, block: int) -> int:
        """How many repair symbols of a block to send, so that all ends get enough."""
        targets = self._targets_of(round_, block)
        return targets[-1][0] if targets else 0

    def split(self, round_: int, block: int, start: int, stop: int) -> list[Piece]:
        """Cuts repair symbols, counted from the first of the round, where fewer ends need them."""
        pieces = []
        targets = self._targets_of(round_, block)
        at = start
        for place, (target, _end) in enumerate(targets):
            if at == stop:
                break
            if target > at:
                upto = min(target, stop)
                pieces.append(Piece(at, upto, tuple([end for _target, end in targets[place:]])))
                at = upto
        return pieces

    def _targets_of(self, round_: int, block: int) -> list[tuple[int, int]]:
        found = self._targets.get((round_, block))
        if found is None:
            needs = self._rounds.needs_of(round_, block)
            if not needs:
                # Not kept: anybody may name any block.
                return []
            found = self._targets[round_, block] = []
            for node, need in needs.items():
                end = self._ends.get(node)
                if end is not None:
                    target = with_margin(
                        need,
                        end.loss,
                        margin=self._settings.repair_margin,
                        threshold=self._settings.repair_threshold,
                    )
                    found.append((target, node))
            found.sort()
        return found

    # Exactly.

    def exact(self, round_: int, block: int, block_symbols: int, choice: RepairChoice) -> Exact:
        """The source symbols of a block to send again, and whether the code is to do the rest."""
        found = self._exact.get((round_, block))
        if found is None:
            found = self._exact[round_, block] = self._find_exact(
                round_, block, exact_max(block_symbols, choice)
            )
        return found

    def _find_exact(self, round_: int, block: int, symbols_max: int) -> Exact:
        required = union_of(self._rounds.exact_of(round_, block).values())
        union = self._rounds.union_listed(round_, block)
        if union is not None and size_of(union) <= symbols_max:
            return Exact(union_of((required, union)), is_all=True)
        return Exact(required, is_all=not self._rounds.needs_of(round_, block))

    def split_exact(self, round_: int, block: int, numbers: Sequence[int]) -> list[ExactPiece]:
        """Groups source symbols by the ends that list them."""
        listed = self._rounds.listed_of(round_, block)
        required = self._rounds.exact_of(round_, block)
        groups: dict[tuple[int, ...], list[int]] = {}
        for number in numbers:
            ends = [end for end, ranges in listed.items() if number in ranges]
            ends += [
                end for end, ranges in required.items() if number in ranges and end not in ends
            ]
            if ends:
                groups.setdefault(tuple(sorted(ends)), []).append(number)
        return [ExactPiece(tuple(group), ends) for ends, group in groups.items()]
