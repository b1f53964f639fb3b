"""Codes: names, and pairs of numbers, as integers from 0 without gaps that hold for a whole run.

The codes of a batch mean nothing elsewhere: every table, and every piece of a file, has its
own. `RunCodes` gives each name one code in all tables, so that metrics can index arrays with it.
"""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.errors import UsageError
from penstock.trace.batch import NULL_CODE, Batch, Ints, PackedColumn

# The ordering of what the network itself did.
NETWORK: Final = ""
# Sequence numbers have 32 bits on the wire; metrics pack them into one integer with others.
SEQ_BITS: Final = 32

Kind = TypeVar("Kind", bound=np.generic)
_UNKNOWN: Final = -1
# Four bytes each.
_PLACES_MAX: Final = 1 << 26


class Names:
    """Codes for the names of one column, in all tables that have it."""

    __slots__ = ("_codes", "_known", "_last", "order")

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        # By code.
        self.order: list[str] = []
        # The names list of the last batch, and our code of each; batches of a run share theirs.
        self._last: list[str] | None = None
        self._known: Ints = np.full(1, NULL_CODE, np.int64)

    def __contains__(self, name: str) -> bool:
        return name in self._codes

    def code(self, name: str) -> int:
        """The code of a name, a new one if need be."""
        code = self._codes.get(name)
        if code is None:
            code = self._codes[name] = len(self.order)
            self.order.append(name)
        return code

    def recoded(self, packed: PackedColumn) -> PackedColumn:
        """The same column with our codes."""
        names = packed.names
        assert names is not None
        if names is not self._last or len(self._known) != len(names) + 1:
            # The last place is that of `NULL_CODE`, which indexes from the end.
            self._known = np.array([*map(self.code, names), NULL_CODE], np.int64)
            self._last = names
        return PackedColumn(self._known[packed.values], names=self.order)


class PairCodes:
    """Codes for two numbers together: of all pairs that could be, few ever are."""

    __slots__ = ("_table", "count")

    def __init__(self) -> None:
        self._table: NDArray[np.int32] = np.full((1, 1), _UNKNOWN, np.int32)
        self.count = 0

    def of(self, first: Ints, second: Ints) -> Ints:
        """The code of each row."""
        if not first.size:
            return np.zeros(0, np.int64)
        self._make_room(int(first.max()) + 1, int(second.max()) + 1)
        places = first * self._table.shape[1] + second
        flat = self._table.reshape(-1)
        codes = flat[places]
        if codes.min() == _UNKNOWN:
            new = np.unique(places[codes == _UNKNOWN])
            flat[new] = np.arange(self.count, self.count + new.size)
            self.count += new.size
            codes = flat[places]
        return np.asarray(codes, np.int64)

    def parts(self) -> tuple[Ints, Ints]:
        """The two numbers of each code."""
        first, second = np.nonzero(self._table != _UNKNOWN)
        order = np.argsort(self._table[first, second])
        return first[order].astype(np.int64), second[order].astype(np.int64)

    def _make_room(self, first: int, second: int) -> None:
        rows, columns = self._table.shape
        if first <= rows and second <= columns:
            return
        needed = (max(first, rows), max(second, columns))
        if needed[0] * needed[1] > _PLACES_MAX:
            raise UsageError(
                f"{first} × {second} names are too many for one task: let Spark split the run"
                " with --parts"
            )
        # Names come a few at a time: room for twice as many, if there is.
        larger = (2 * first if first > rows else rows, 2 * second if second > columns else columns)
        if larger[0] * larger[1] > _PLACES_MAX:
            larger = needed
        table = np.full(larger, _UNKNOWN, np.int32)
        table[:rows, :columns] = self._table
        self._table = table


class ValueCodes:
    """Codes for whole numbers of which there are few, such as epochs."""

    __slots__ = ("_codes",)

    def __init__(self) -> None:
        self._codes: dict[int, int] = {}

    def of(self, values: Ints) -> Ints:
        """The code of each row's value."""
        if values.size and values.min() == values.max():
            return np.full(values.size, self._code(int(values[0])), np.int64)
        distinct, where = np.unique(values, return_inverse=True)
        codes = np.array([self._code(value) for value in distinct.tolist()], np.int64)
        return codes[where] if codes.size else np.zeros(0, np.int64)

    def _code(self, value: int) -> int:
        return self._codes.setdefault(value, len(self._codes))


class RunCodes:
    """The codes that all metrics of one run share.

    pair      subscriber and publisher
    flow      a pair and an epoch: within it numbers are of one sequence
    stream    a flow in one ordering: within it numbers should rise
    """

    def __init__(self) -> None:
        self._names: Final[dict[str, Names]] = {"ordering": Names()}
        self.network: Final = self._names["ordering"].code(NETWORK)
        self.pairs: Final = PairCodes()
        self.epochs: Final = ValueCodes()
        self.flows: Final = PairCodes()
        self.streams: Final = PairCodes()

    def recoded(self, batch: Batch) -> Batch:
        """The same rows with codes that hold for the run."""
        columns = {
            name: packed
            if packed.names is None
            else self._names.setdefault(name, Names()).recoded(packed)
            for name, packed in batch.columns.items()
        }
        return Batch(batch.table, batch.rows, columns)

    def names(self, column: str) -> list[str]:
        """All names that a column had, by code."""
        return self._names.setdefault(column, Names()).order

    def has_name(self, column: str, name: str) -> bool:
        """Whether a column has had this name."""
        return name in self._names.setdefault(column, Names())

    def pair_of(self, batch: Batch) -> Ints:
        """The pair of each row."""
        return self.pairs.of(batch.codes("subscriber"), batch.codes("publisher"))

    def flow_of(self, batch: Batch) -> Ints:
        """The flow of each row."""
        return self.flows.of(self.pair_of(batch), self.epochs.of(batch.integers("epoch")))

    def pair_of_flow(self) -> Ints:
        """The pair of each flow."""
        return self.flows.parts()[0]

    def subscriber_of_pair(self) -> Ints:
        """The code of each pair's subscriber."""
        return self.pairs.parts()[0]

    def pair_names(self, pairs: Ints) -> tuple[list[str], list[str]]:
        """Subscribers and publishers of these pairs."""
        subscriber, publisher = self.pairs.parts()
        subscribers, publishers = self.names("subscriber"), self.names("publisher")
        return (
            [subscribers[code] for code in subscriber[pairs].tolist()],
            [publishers[code] for code in publisher[pairs].tolist()],
        )


def grown(array: NDArray[Kind], size: int, fill: int) -> NDArray[Kind]:
    """The same array with room for `size` rows, and for as many again so that this is rare."""
    if size <= len(array):
        return array
    larger = np.full((2 * size, *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger
