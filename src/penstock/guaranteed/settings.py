"""Everything about guaranteed streams that can be chosen; the defaults are what is shipped."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from penstock.guaranteed.rate.base import RateSettings
from penstock.guaranteed.rate.laws import RateLawName
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration

MB: Final = 1_000_000
# How far ahead of its doubt horizon a reader asks for repairs: the whole receive window, a fixed
# stretch, or as much as the network takes, by the paper or by what waits in queues.
WindowLawName: TypeAlias = Literal["none", "fixed", "literal", "vegas"]
# What is stored of numbers.
_INT_MAX: Final = 2**63 - 1


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a stream is kept; None is no bound."""

    size_bytes: int | None = 10_000 * MB
    # Of messages that every host has read.
    age_ns: Duration | None = 7 * 24 * 3600 * SECOND
    # Give up the oldest messages at these bounds, whoever has not read them.
    drops: bool = False


def check_retention(retention: Retention) -> None:
    """Refuses bounds that nothing can keep."""
    size_bytes, age_ns = retention.size_bytes, retention.age_ns
    if size_bytes is not None and not 0 < size_bytes <= _INT_MAX:
        raise UsageError(f"retention.size is more than 0 and below 2^63 bytes, not {size_bytes}")
    if age_ns is not None and not 0 <= age_ns <= _INT_MAX:
        raise UsageError(f"retention.age is at least 0 and below 2^63 ns, not {age_ns} ns")


class PubendSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Of one pubend."""

    retention: Retention = Retention()
    # Silence is said when nothing was for so long.
    silence_ns: Duration = 250 * MILLISECOND
    # A row is saved, and the log trimmed, so often at the most.
    rows_ns: Duration = 200 * MILLISECOND
    publishers_max: int = 65_536
    # Of a publisher: a repeated id among these is confirmed with its tick.
    recent_ids_max: int = 1_024
    repair_slice_bytes: int = 256 * 1024
    repair_ranges_max: int = 4_096
    # Whether repairs wait while the queue of a link is half full.
    repairs_wait: bool = True
    readers_max: int = 1_024
    # Messages and bytes that a publisher may have unconfirmed.
    credit_messages: int = 1_000
    credit_bytes: int = 4 * MB
    message_bytes_max: int = 1 << 20


class RelaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Of a relay, for each pubend."""

    cache_bytes: int = 64 * MB
    # In stream time: how far behind the newest tick the cache reaches; None is no bound but bytes.
    cache_ns: Duration | None = None
    silence_ns: Duration = 250 * MILLISECOND
    # Whether all that is known is said with each DCQ, so that a host which lags has a reason.
    tells_with_queries: bool = True
    # A request to a parent is taken for lost after so long.
    outstanding_ns: Duration = 500 * MILLISECOND
    acks_ns: Duration = 200 * MILLISECOND
    # Readers behind it whose requests are answered from the cache.
    readers_max: int = 1_024
    # Alerts as the paper prints their merging.
    keeps_late_alerts: bool = False


class HostSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Of a host."""

    # In stream time: how far ahead of its doubt horizon a reader keeps what arrives.
    receive_window_ns: Duration = 10 * SECOND
    # In stream time: how far ahead of its doubt horizon a reader asks for repairs, where that is
    # fixed.
    nack_window_ns: Duration = 1 * SECOND
    # In stream time: the length of one range of a NACK.
    nack_range_ns: Duration = 100 * MILLISECOND
    nack_retry_ns: Duration = 500 * MILLISECOND
    nack_doublings_max: int = 3
    # Cursors are saved, and acknowledged, so often at the most.
    acks_ns: Duration = 200 * MILLISECOND
    # HOLD and FILTER are repeated until they are answered.
    ask_again_ns: Duration = 1 * SECOND
    # After a restart: how long reader 0 waits for those that were reading. Their programs try to
    # connect every two seconds at least.
    gather_ns: Duration = 3 * SECOND
    # After a reader's connection was lost: how long what it wants still comes.
    lingers_ns: Duration = 5 * SECOND
    # A gap that is open for so long is an alarm.
    gap_alarm_ns: Duration = 30 * SECOND
    catch_up_readers_max: int = 16
    durables_max: int = 10_000
    subscriptions_max: int = 1_000
    credit_messages: int = 1_000
    credit_bytes: int = 4 * MB
    # What a subscription without credit leaves in memory, before it has to read it from the log.
    waiting_messages: int = 4_096
    waiting_bytes: int = 4 * MB
    # With so much on its way to a client, it gets no more, whatever credit it gives.
    client_queue_bytes: int = 64 * MB
    # In stream time: how far ahead ticks are reserved on disk before messages are handed out.
    reserve_ns: Duration = 2 * SECOND
    # A message that failed comes again after that, doubled each time.
    fail_retry_ns: Duration = 1 * SECOND
    fail_retry_max_ns: Duration = 60 * SECOND
    # A message that may have killed its reader comes alone, for so long at the most: some readers
    # acknowledge many at once.
    alone_ns: Duration = 5 * SECOND
    # Of one durable name.
    parked_max: int = 10_000
    parked_bytes_max: int = 64 * MB


class LinkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Of a link to another broker or to a client."""

    queue_bytes: int = 5 * MB
    # Whether pubends share a link by bytes; else what comes first goes first.
    pubends_take_turns: bool = True
    ping_ns: Duration = 1 * SECOND
    silent_ns: Duration = 3 * SECOND
    client_silent_ns: Duration = 30 * SECOND
    clients_max: int = 4_096
    # Answers have no credit: a client that leaves so much unread is disconnected.
    client_unread_bytes: int = 128 * MB
    children_max: int = 1_024


class CongestionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is done about links that are too narrow; all but the default is for experiments."""

    # How the rate of publishers follows hosts.
    rate_law: RateLawName = "model"
    rate: RateSettings = RateSettings()
    # Whether publishers that have to wait take turns; else the first to come is the first to go.
    publishers_take_turns: bool = True
    # Whether hosts are asked more often while the model slows publishers down.
    queries_quicken: bool = True
    # How much hosts ask for at once.
    window_law: WindowLawName = "vegas"
    # Whether the window that goes by what waits doubles until something does.
    window_doubles: bool = True
    # Whether a host that is far behind has its link carry repairs alone.
    live: bool = True
    # Whether the repairs of such a host go through its own filters only, to it alone.
    filtered_repair: bool = True
    # When a request is repeated; None for twice the time that answers take.
    retry_ns: Duration | None = None


class BrokerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Of a broker with all its roles."""

    pubend: PubendSettings = PubendSettings()
    relay: RelaySettings = RelaySettings()
    host: HostSettings = HostSettings()
    link: LinkSettings = LinkSettings()
    congestion: CongestionSettings = CongestionSettings()
