"""What the recorder of alerts makes of frames, and what a slow link has hosts say."""

from __future__ import annotations

from math import inf
from typing import Literal

import pytest

from penstock.guaranteed.settings import BrokerSettings, CongestionSettings
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import SECOND
from penstock.sim.guaranteed.alerts import AlertRecorder
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.trace.alert_kind import AlertKind
from penstock.trace.records import StreamAlert
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionReport,
    Progress,
)
from tests.sim.guaranteed.test_samples import Pair, Rows


def recorder() -> tuple[AlertRecorder, Rows]:
    network, rows = StreamNetwork(1), Rows()
    network.add_broker("PB", streams={1: "one"})
    network.add_broker("IB", parents=1)
    return AlertRecorder(network, rows, {1: "one"}), rows


def test_an_alert_has_a_row_for_each_kind_of_hosts_that_complain() -> None:
    alerts, rows = recorder()
    frames = [
        CongestionAlert(pubend=1, seq=3, normal_rate=0.5),
        CongestionAlert(pubend=1, seq=4, normal_rate=0, recovering_rate=1.5),
        CongestionAlert(pubend=1, seq=5, normal_rate=inf),
    ]
    alerts.on_arrival("PB", "IB", frames)
    assert rows == [
        StreamAlert(0, "PB", "one", 3, AlertKind.NORMAL, 0.5),
        StreamAlert(0, "PB", "one", 4, AlertKind.NORMAL, 0),
        StreamAlert(0, "PB", "one", 4, AlertKind.RECOVERING, 1.5),
    ]


def test_a_report_tells_the_rate_by_how_far_hosts_have_got() -> None:
    alerts, rows = recorder()
    start = duration_ticks(SECOND)
    slow = Progress(host="SB", start=start, stop=start, elapsed_ns=SECOND)
    fast = Progress(host="SB", start=start, stop=4 * start, elapsed_ns=SECOND)
    new = Progress(host="SB", start=start, stop=start, elapsed_ns=0)
    alerts.on_arrival("PB", "IB", [CongestionReport(pubend=1, seq=1, normal=slow, recovering=fast)])
    alerts.on_arrival("PB", "IB", [CongestionReport(pubend=1, seq=2, normal=new)])
    assert [(row.kind, row.doubt_rate) for row in rows if isinstance(row, StreamAlert)] == [
        ("normal", 0),
        ("recovering", 3),
    ]


def test_what_comes_to_a_relay_is_not_recorded() -> None:
    alerts, rows = recorder()
    alerts.on_arrival("IB", "SB", [CongestionAlert(pubend=1, seq=3, normal_rate=0.5)])
    assert not rows


@pytest.mark.parametrize("law", ["literal", "model"])
def test_a_host_that_recovers_says_how_fast(law: Literal["literal", "model"]) -> None:
    congestion = CongestionSettings(rate_law=law, window_law="vegas")
    pair = Pair(BrokerSettings(congestion=congestion))
    pair.network.watchers.append(AlertRecorder(pair.network, pair.rows, {1: "one"}))
    pair.run(1)
    pair.network.cut("SB", "PB")
    pair.run(20)
    pair.network.set_rate("SB", "PB", 150 * 345 * 8)
    pair.network.connect("SB", "PB")
    alerts = [row for row in pair.run(10) if isinstance(row, StreamAlert)]
    rates = [row.doubt_rate for row in alerts if row.kind == "recovering"]
    assert len(rates) > 5
    # The link takes half as much again as is published.
    assert 0.5 < rates[-1] < 4
    assert all(row.broker == "PB" and row.pubend == "one" for row in alerts)
