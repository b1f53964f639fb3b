"""Tables of an experiment file: ordering, recovery and congestion control of endpoints."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from penstock.lab.schema.base import Count, Entries, LatchMs, Part, Positive


class RecoveryPart(Part, frozen=True, kw_only=True):
    """Recovery of lost messages; see `transport.recovery.settings`."""

    # `literal` is chapter 4 of the dissertation.
    kind: Literal["off", "default", "literal"] = "default"
    # Bounds on the messages cached per publisher.
    cache_min: Count = 5
    cache_max: Count = 300
    # Whether subscribers cache received messages and receive and serve requests of others.
    volunteers: bool = True
    # Whether publishers cache and repair too; by default in all kinds but `literal`.
    publisher_answers: bool | None = None
    # Whether subscribers request digests where records reveal too few losses.
    digests: bool = False
    # Whether subscribers ask publishers to number the messages that their filters match.
    tracks: bool = False
    # Width, in distances, of the interval from which the request delay is drawn; SRM's C2.
    ask_width: Annotated[float, Meta(ge=0, le=1000)] | None = None
    # Minimum request delay, in distances; SRM's C1.
    ask_first: Annotated[float, Meta(gt=0, le=1000)] | None = None
    # Width, in distances, of the interval from which the repair delay is drawn; SRM's D2.
    answer_width: Annotated[float, Meta(gt=0, le=1000)] | None = None
    # Whether a request designates a repairer that replies at once; by default in all kinds but
    # `literal`.
    names_first: bool | None = None


class CongestionPart(Part, frozen=True, kw_only=True):
    """Congestion control of publishers; see `transport.congestion.settings`."""

    # `literal` is chapter 5 of the dissertation; `window` uses acknowledgements and windows,
    # after pgmcc.
    kind: Literal["off", "default", "literal", "window"] = "default"
    # The size that every message counts as; its real size if left out.
    nominal_bytes: Count | None = None
    # Growth of a flow per round trip, as a share of its received rate; the kind's own value if
    # left out.
    increase: Annotated[float, Meta(gt=0, le=1)] | None = None
    # Initial rate of a publisher, in messages per second.
    initial_rate: Positive = 100
    # Length of a publisher's send queue, and which message is dropped when it is full.
    queue: Count = 1000
    policy: Literal["drop-oldest", "drop-newest"] = "drop-oldest"
    # Whether messages leave in the order of publication, so that a slow flow delays all others.
    strict: bool = False


class TransportPart(Part, frozen=True, kw_only=True):
    """The record in every message, and the settings of recovery and congestion control."""

    # Maximum entries of a record; with `cover_ms`, only messages sent within that time.
    record: Entries = 10
    cover_ms: Positive | None = None
    # Attributes whose numeric values are sent beside the fingerprints, so that ranges match.
    numbers: list[str] = field(default_factory=list)
    # If set, entries are Bloom sets of this size, as in the paper, instead of fingerprints.
    bloom_bits: Annotated[int, Meta(ge=8, le=2040, multiple_of=8)] | None = None
    bloom_hashes: Annotated[int, Meta(ge=1, le=16)] = 3
    recovery: RecoveryPart = RecoveryPart(kind="off")
    congestion: CongestionPart = CongestionPart(kind="off")


class OffOrdering(Part, frozen=True, kw_only=True, tag_field="kind", tag="off"):
    """Messages are delivered as they arrive."""


class _LatchedOrdering(Part, frozen=True, kw_only=True):
    """Common keys of all orderings that wait for missing messages."""

    # What to do with a message that arrives after later ones were delivered.
    late: Literal["deliver", "drop"] = "deliver"
    # The longest time that a message is held back.
    max_delay_ms: LatchMs = 2_000
    # How long messages after a lost one are held back for its repair.
    hold_for_repair_ms: LatchMs = 0


class ConstantOrdering(
    _LatchedOrdering, frozen=True, kw_only=True, tag_field="kind", tag="constant"
):
    """CST-t: a constant latch, for the previous sequence number or for `record` entries."""

    latch_ms: LatchMs
    record: Entries = 0


class LiteralOrdering(_LatchedOrdering, frozen=True, kw_only=True, tag_field="kind", tag="literal"):
    """P-x-y: the paper's algorithm; x is the chance and y the number of entries looked at."""

    chance: Annotated[float, Meta(gt=0, le=0.5)] = 0.05
    record: Entries = 25
    # Use the formula as printed in the paper, which takes the wrong branch.
    as_printed: bool = False


class DefaultOrdering(_LatchedOrdering, frozen=True, kw_only=True, tag_field="kind", tag="default"):
    """The transport's default ordering."""

    # The target share of missing messages that arrive too late, of those that arrive at all.
    chance: Annotated[float, Meta(gt=0, le=1)] = 0.003
    record: Entries = 255
    # Corrects the latch by observed lateness where the delay law does not fit.
    empirical: bool = True


Ordering: TypeAlias = OffOrdering | ConstantOrdering | LiteralOrdering | DefaultOrdering
