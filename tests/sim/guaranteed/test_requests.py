"""REQUEST and RESULT against a whole broker; what is wrong is refused, and never an exception."""

from __future__ import annotations

import pytest

from penstock.guaranteed.client import Fenced
from penstock.guaranteed.facts import Alarm
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.client import Credit, CreditKind, Refused, Welcome
from penstock.wire.frames.guaranteed.publication import Publish
from penstock.wire.frames.guaranteed.subscription import AttachFlags

from .asking import Operator

ORDERS = {0xA: "orders"}


@pytest.fixture
def network() -> StreamNetwork:
    network = StreamNetwork(5, with_codec=True)
    network.add_broker("b", streams=dict(ORDERS))
    network.run(100 * MILLISECOND)
    return network


def open_reader(network: StreamNetwork, **options: object) -> ReadingProgram:
    reader = ReadingProgram(
        network,
        "reader",
        "b",
        stream="orders",
        durable="billing",
        **options,  # type: ignore[arg-type]
    )
    network.run(50 * MILLISECOND)
    reader.open()
    network.run(100 * MILLISECOND)
    return reader


def publish(network: StreamNetwork, writer: Writer, count: int) -> None:
    for n in range(count):
        writer.publish("orders", {"n": n})
    network.run(500 * MILLISECOND)


def test_list_and_status_name_who_holds_the_log(network: StreamNetwork) -> None:
    writer = Writer(network, "writer", "b")
    reader = open_reader(network)
    reader.is_paused = True
    publish(network, writer, 4)
    operator = Operator(network, "b")
    [stream] = operator.ask("list")["streams"]
    assert (stream["name"], stream["messages"], stream["is_here"]) == ("orders", 4, True)
    assert stream["held_by"]["host"] == "b"
    assert stream["held_by"]["durables"] == ["billing"]
    assert stream["held_by"]["bytes"] > 0
    status = operator.ask("status")
    assert (status["broker"], status["durables"], status["clients"]) == ("b", 1, 3)
    assert status["oldest_gap_seconds"] is None
    assert status["repeated_share"] == 0


def test_status_has_the_last_alarms(network: StreamNetwork) -> None:
    for number in range(25):
        network.brokers["b"].machine.tell(Alarm("gap_open", f"gap {number}"))
    alarms = Operator(network, "b").ask("status")["alarms"]
    assert [alarm["text"] for alarm in alarms] == [f"gap {number}" for number in range(5, 25)]
    assert alarms[0]["kind"] == "gap_open"
    assert alarms[0]["at_ns"] > 0


def test_durables_tell_filter_reader_and_lag(network: StreamNetwork) -> None:
    writer = Writer(network, "writer", "b")
    reader = open_reader(network)
    reader.is_paused = True
    publish(network, writer, 4)
    network.run(2 * SECOND)
    operator = Operator(network, "b")
    [durable] = operator.ask("durables")["durables"]
    assert (durable["name"], durable["reader"]) == ("billing", "reader")
    assert durable["lag"]["messages"] == 4
    assert not durable["lag"]["is_upper_bound"]
    assert 1 < durable["lag"]["seconds"] < 5
    assert list(durable["positions"]) == ["000000000000000a"]
    reader.close()
    network.run(100 * MILLISECOND)
    [durable] = operator.ask("durables")["durables"]
    assert durable["reader"] is None
    assert durable["lag"]["messages"] == 4
    assert operator.ask("durables", after="billing") == {"durables": [], "more": False}


def test_the_lag_of_a_name_is_known_at_another_broker_while_the_log_can_be_asked(
    network: StreamNetwork,
) -> None:
    network.add_broker("s", parents=1)
    network.connect("s", "b")
    writer = Writer(network, "writer", "b")
    network.run(100 * MILLISECOND)
    reader = ReadingProgram(network, "reader", "s", stream="orders", durable="afar")
    network.run(50 * MILLISECOND)
    reader.open()
    network.run(SECOND)
    reader.close()
    publish(network, writer, 3)
    operator = Operator(network, "s")
    [durable] = operator.ask("durables")["durables"]
    assert durable["host"] == "s"
    assert durable["lag"]["messages"] == 3
    assert 0 < durable["lag"]["seconds"] < 5
    assert durable["lag"]["retention_share"] > 0
    network.crash("b")
    network.run(SECOND)
    [durable] = operator.ask("durables")["durables"]
    assert durable["lag"] == {
        "messages": None,
        "seconds": None,
        "retention_share": None,
        "is_upper_bound": False,
    }


def test_parked_messages_are_listed_handed_out_again_and_discarded(network: StreamNetwork) -> None:
    writer = Writer(network, "writer", "b")
    reader = open_reader(network, attempts_max=1)
    reader.close()
    network.run(50 * MILLISECOND)
    reader.open(flags=AttachFlags.PARK)
    reader.is_paused = True
    publish(network, writer, 3)
    for _ in range(3):
        reader.fail("no")
        network.run(2 * SECOND)
    # Each is given up for its own failure, and for no other's.
    assert reader.values() == [0, 1, 2, 1, 2, 2]
    reader.is_paused = False
    operator = Operator(network, "b")
    page = operator.ask("parked", durable="billing")
    assert len(page["messages"]) == 3
    assert not page["more"]
    first, second, third = (
        {"durable": "billing", "pubend": each["pubend"], "tick": each["tick"]}
        for each in page["messages"]
    )
    assert operator.ask("parked", action="retry", **second) == {"messages": 1}
    assert reader.values()[6:] == [1]
    assert reader.attempts()[6:] == [2]
    assert operator.ask("parked", action="discard", **third) == {"messages": 1}
    left = operator.ask("parked", durable="billing")["messages"]
    assert [each["tick"] for each in left] == [first["tick"]]
    assert operator.ask("parked", action="discard", **third).reason == "unknown"
    reader.close()
    network.run(100 * MILLISECOND)
    assert operator.ask("parked", action="retry", **first).reason == "unread"
    assert [key for key in network.brokers["b"].disk.saved if key.startswith("parked/")] == [
        f"parked/billing/{first['pubend']}/{first['tick']}"
    ]


def test_a_stream_is_created_used_and_deleted(network: StreamNetwork) -> None:
    operator = Operator(network, "b")
    stream = operator.ask("create", stream="bids", retention={"size_bytes": 5_000_000})
    assert stream["name"] == "bids"
    assert operator.ask("create", stream="bids").reason == "exists"
    writer = Writer(network, "writer", "b")
    reader = ReadingProgram(network, "reader", "b", stream="bids", durable="billing")
    network.run(50 * MILLISECOND)
    reader.open()
    network.run(100 * MILLISECOND)
    writer.publish("bids", {"n": 1})
    network.run(SECOND)
    assert reader.values() == [1]
    network.crash("b")
    network.restart("b")
    for client in network.clients.values():
        client.connect()
    network.run(100 * MILLISECOND)
    retention = (
        network.brokers["b"].machine.pubends[int(stream["pubends"][0], 16)].stored.size.retention
    )
    assert retention.size_bytes == 5_000_000
    assert operator.ask("delete", stream="bids") == {}
    assert [each.refused.reason for each in reader.life.ended] == ["unknown_stream"]
    network.run(SECOND)
    assert [each["name"] for each in operator.ask("list")["streams"]] == ["orders"]
    key = f"pubend/{stream['pubends'][0]}"
    assert not [each for each in network.brokers["b"].disk.saved if each.startswith(key)]
    writer.publish("bids", {"n": 2})
    network.run(100 * MILLISECOND)
    assert [each.refused.reason for each in writer.refused] == ["unknown_stream"]


def test_limits_that_were_changed_outlive_a_crash(network: StreamNetwork) -> None:
    operator = Operator(network, "b")
    pubend = int(operator.ask("create", stream="bids")["pubends"][0], 16)
    changed = operator.ask("change", stream="bids", size_bytes=5_000_000)
    assert changed["retention"]["size_bytes"] == 5_000_000
    assert operator.ask("change", stream="bids", drops=True)["retention"]["drops"]
    assert operator.ask("change", stream="bids", size_bytes=-1).reason == "bad_request"
    assert operator.ask("change", stream="none").reason == "unknown_stream"
    network.crash("b")
    network.restart("b")
    network.run(100 * MILLISECOND)
    retention = network.brokers["b"].machine.pubends[pubend].stored.size.retention
    assert (retention.size_bytes, retention.drops) == (5_000_000, True)
    assert retention.age_ns == 7 * 86_400 * SECOND


def test_a_stream_created_at_a_parent_is_announced(network: StreamNetwork) -> None:
    network.add_broker("s", parents=1)
    network.connect("s", "b")
    network.run(100 * MILLISECOND)
    Operator(network, "b").ask("create", stream="bids")
    names = [each["name"] for each in Operator(network, "s").ask("list")["streams"]]
    assert names == ["bids", "orders"]


def test_a_host_that_will_not_come_back_is_forgotten(network: StreamNetwork) -> None:
    open_reader(network)
    operator = Operator(network, "b")
    assert operator.ask("forget", host="nobody").reason == "unknown"
    network.brokers["b"].machine.pubends[0xA].rows.by_host["gone"] = (
        network.brokers["b"].machine.pubends[0xA].rows.by_host["b"]
    )
    assert operator.ask("forget", host="gone") == {}
    assert "gone" not in network.brokers["b"].machine.pubends[0xA].rows.by_host


@pytest.mark.parametrize(
    ("verb", "arguments", "reason"),
    [
        ("dance", b"{}", "unknown_verb"),
        ("seek", b"", "bad_request"),
        ("seek", b"{", "bad_request"),
        ("seek", b"[1]", "bad_request"),
        ("seek", b'{"durable":"x","start":"yesterday"}', "bad_request"),
        ("seek", b'{"durable":"x","start":"tick","value":-1}', "bad_request"),
        ("seek", b'{"durable":"x","start":"first"}', "unknown"),
        ("parked", b'{"durable":"x"}', "unknown"),
        ("parked", b'{"durable":"billing","action":"retry","pubend":"zz"}', "bad_request"),
        ("parked", b'{"durable":"billing","action":"retry","pubend":"a"}', "unknown"),
        ("forget", b"{}", "bad_request"),
        ("forget", b'{"durable":"x"}', "unknown"),
        ("forget", b'{"host":"b"}', "bad_request"),
        ("seek", b'{"durable":"billing","start":"tick","value":1,"pubend":"3f"}', "unknown"),
        ("create", b'{"stream":""}', "bad_request"),
        ("create", b'{"stream":"x","retention":{"size_bytes":-5}}', "bad_request"),
        ("delete", b'{"stream":"x"}', "unknown_stream"),
        ("list", b"\xff\xfe", "bad_request"),
        ("list", b"[" * 60_000, "bad_request"),
    ],
)
def test_what_cannot_be_read_or_done_is_refused(
    network: StreamNetwork, verb: str, arguments: bytes, reason: str
) -> None:
    open_reader(network)
    answer = Operator(network, "b").ask_raw(verb, arguments)
    assert isinstance(answer, Refused)
    assert answer.reason == reason


def test_a_body_that_cannot_be_read_never_reaches_the_log(network: StreamNetwork) -> None:
    operator = Operator(network, "b")
    operator.client.call(lambda client: client.publish("orders", b"\xff\xff broken"))
    network.run(SECOND)
    assert not operator.client.is_connected
    assert [each.refused.reason for each in operator.fenced] == ["malformed"]
    assert not network.brokers["b"].disk.logs["000000000000000a"].records


def test_a_client_that_exceeds_its_credit_is_refused_and_disconnected(
    network: StreamNetwork,
) -> None:
    operator = Operator(network, "b")
    body = write_body({}, b"")
    port = operator.client.port
    for n in range(1_002):
        frame = Publish(stream="orders", ids=(n + 1,), bodies=(body,))
        network.brokers["b"].arrive(port, [frame])
    network.run(SECOND)
    assert not operator.client.is_connected
    assert [each.refused.reason for each in operator.fenced] == ["credit"]


@pytest.mark.parametrize(
    "frame",
    [
        Welcome(broker="b", message_bytes_max=1),
        Credit(kind=CreditKind.SUBSCRIPTION, number=99, messages=1, size_bytes=1),
    ],
)
def test_frames_out_of_place_do_no_harm(network: StreamNetwork, frame: Welcome | Credit) -> None:
    operator = Operator(network, "b")
    network.brokers["b"].arrive(operator.client.port, [frame])
    network.brokers["b"].arrive("stranger", [frame])
    network.run(SECOND)
    assert operator.client.is_connected == isinstance(frame, Credit)
    assert all(isinstance(each, Fenced) for each in operator.fenced)
