"""Small batches are joined, in order, with the columns that are read."""

from __future__ import annotations

from penstock.metrics.gather import Gather
from penstock.trace.batch import Batch, Packer
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Expected, Publication
from penstock.trace.schema import TABLES


def publications(packer: Packer, first: int, count: int) -> Batch:
    sent = PublisherFate.SENT
    return packer.pack(
        [
            # The last of a batch never left.
            Publication(
                f"p-{seq}", 0, seq, seq, None if seq == first + count - 1 else seq, 10, sent, "data"
            )
            for seq in range(first, first + count)
        ]
    )


def test_batches_wait_until_there_are_enough_rows() -> None:
    taken: list[Batch] = []
    gather = Gather({"publications": {"publisher", "published_ns"}}, rows=5)
    gather.connect(taken.append)
    packer = Packer(TABLES["publications"])
    for first in range(0, 12, 2):
        gather.add(publications(packer, first, 2))
    assert [batch.rows for batch in taken] == [6, 6]
    gather.add(publications(packer, 12, 1))
    gather.close()
    assert [batch.rows for batch in taken] == [6, 6, 1]


def test_rows_keep_their_order_names_and_nulls() -> None:
    taken: list[Batch] = []
    gather = Gather({"publications": {"publisher", "published_ns"}}, rows=100)
    gather.connect(taken.append)
    packer = Packer(TABLES["publications"])
    gather.add(publications(packer, 0, 2))
    gather.add(publications(packer, 2, 3))
    gather.close()
    [batch] = taken
    assert {*batch.columns} == {"publisher", "published_ns"}
    names = batch.names("publisher")
    assert [names[code] for code in batch.codes("publisher")] == [f"p-{n}" for n in range(5)]
    assert batch.present("published_ns").tolist() == [True, False, True, True, False]


def test_tables_that_nobody_reads_are_dropped() -> None:
    taken: list[Batch] = []
    gather = Gather({"publications": {"publisher"}}, rows=1)
    gather.connect(taken.append)
    gather.add(Packer(TABLES["expected"]).pack([Expected("p", 0, 1, "s", 5)]))
    gather.close()
    assert not taken


def test_rows_that_come_before_anybody_is_connected_wait() -> None:
    taken: list[Batch] = []
    gather = Gather({"publications": {"publisher"}}, rows=1)
    packer = Packer(TABLES["publications"])
    gather.add(publications(packer, 0, 4))
    gather.connect(taken.append)
    gather.add(publications(packer, 4, 1))
    assert [batch.rows for batch in taken] == [5]
