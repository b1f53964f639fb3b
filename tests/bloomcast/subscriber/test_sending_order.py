"""The places of symbols, when some blocks were there before."""

from __future__ import annotations

from penstock.bloomcast.coding.block_layout import BlockLayout
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.bloomcast.subscriber.sending_order import SendingOrder
from penstock.wire.frames.cast.base import MANIFEST_BLOCK

SHAPE = ObjectShape(BlockLayout(43 * 8, 8, 10), BlockLayout(16, 8, 2))


def test_places_follow_the_blocks_that_are_waited_for() -> None:
    for had in ([], [MANIFEST_BLOCK], [3, 1], [4, MANIFEST_BLOCK, 0], [*SHAPE.blocks()]):
        order, place = SendingOrder(SHAPE, had), 0
        for block in SHAPE.blocks():
            for symbol in range(SHAPE.symbols_of(block)):
                assert order.place(block, symbol) == (None if block in had else place)
                place += block not in had
        assert order.places == place


def test_blocks_that_are_only_announced_cost_nothing() -> None:
    """Whoever forges FIRST may announce as many as a frame can say."""

    class Announced(ObjectShape):
        def blocks(self) -> None:  # type: ignore[override]
            raise AssertionError

    blocks = 2**24 - 1
    shape = Announced(BlockLayout(blocks * 8, 8, 1), BlockLayout(8, 8, 1))
    order = SendingOrder(shape, {7})
    assert order.places == blocks
    assert (order.place(6, 0), order.place(7, 0), order.place(blocks - 1, 0)) == (
        7,
        None,
        2**24 - 2,
    )
