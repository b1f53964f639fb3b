"""Recovery on real sockets: what a bad line loses comes again from who published it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock import RecoverySettings, connect
from penstock.kernel.errors import UsageError
from penstock.live.daemon.broker import serve
from penstock.trace.fates import ReceiverFate
from tests.live.loopback import QUICK, TICKS, bad_line, numbers, run, take, tick

RECOVERY = RecoverySettings()


@pytest.mark.parametrize("requests_as", ["class", "message"])
def test_what_the_network_lost_is_repaired(requests_as: Any) -> None:
    recovery = replace(RECOVERY, requests_as=requests_as)

    async def program() -> None:
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            bad_line(broker.address) as line,
            connect(f"udp://{line.address}", agreement=QUICK, recovery=recovery) as publisher,
            connect(f"udp://{broker.address}", agreement=QUICK, recovery=recovery) as subscriber,
            subscriber.subscribe(TICKS) as ticks,
        ):
            # What was never counted can be asked for, too.
            assert subscriber.counters["transport"]["asked"] == 0
            losses = ticks.losses
            await tick(publisher, 2)
            before = await take(ticks, 2)
            line.lose()
            await tick(publisher, 5)
            after = await take(ticks, 5)
        assert numbers(before) == [0, 1]
        assert sorted(numbers(after)) == [2, 3, 4, 5, 6]
        (repaired,) = [m for m in after if m.fate is ReceiverFate.REPAIRED]
        assert repaired.number == 2
        assert ticks.counters["repaired"] == 1
        assert subscriber.counters["transport"]["asked"] > 0
        assert subscriber.counters["transport"]["repaired"] == 1
        assert publisher.counters["transport"]["answered"] > 0
        # It was lost, so that is not taken back.
        told = [loss.is_retracted async for loss in losses if loss.id.seq == 2]
        assert told == [False]

    run(program())


@pytest.mark.parametrize("wrong", [True, {}, "default"])
def test_what_is_no_setting_is_refused(wrong: Any) -> None:
    async def program() -> None:
        with pytest.raises(UsageError, match="recovery must be a RecoverySettings"):
            async with connect("udp://127.0.0.1:1", recovery=wrong):
                pass

    run(program())
