"""Tables of an experiment's file: how endpoints order, recover and control."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from penstock.lab.schema.base import Count, Entries, LatchMs, Part, Positive


class RecoveryPart(Part, frozen=True, kw_only=True):
    """How endpoints get back what they lost; see `transport.recovery.settings`."""

    # `literal` is chapter 4 of 003.
    kind: Literal["off", "default", "literal"] = "default"
    # Messages kept of each publisher, at least and at most.
    cache_min: Count = 5
    cache_max: Count = 300
    # Whether subscribers keep what they get for others, and so hear others ask.
    volunteers: bool = True
    # Whether publishers keep and answer too; by default all but those of `literal` do.
    publisher_answers: bool | None = None
    # Whether subscribers whom records tell too little ask publishers for digests.
    digests: bool = False
    # Whether subscribers ask publishers to number what their filters match.
    tracks: bool = False
    # Over how many distances those who lost the same draw when to ask; SRM's C2.
    ask_width: Annotated[float, Meta(ge=0, le=1000)] | None = None
    # How many distances all of them wait before that; SRM's C1.
    ask_first: Annotated[float, Meta(gt=0, le=1000)] | None = None
    # Over how many distances those who have it draw when to answer; SRM's D2.
    answer_width: Annotated[float, Meta(gt=0, le=1000)] | None = None
    # Whether requests name who is to answer at once; by default all but those of `literal` do.
    names_first: bool | None = None


class CongestionPart(Part, frozen=True, kw_only=True):
    """How publishers are slowed down; see `transport.congestion.settings`."""

    # `literal` is chapter 5 of 003, `window` has acknowledgements and windows, after pgmcc.
    kind: Literal["off", "default", "literal", "window"] = "default"
    # The size that a message counts as; its own if left out.
    nominal_bytes: Count | None = None
    # By how much of what comes a flow may grow in a round trip; the kind's own if left out.
    increase: Annotated[float, Meta(gt=0, le=1)] | None = None
    # Messages a second that a publisher begins with.
    initial_rate: Positive = 100
    # Messages that wait at a publisher, and what becomes of more.
    queue: Count = 1000
    policy: Literal["drop-oldest", "drop-newest"] = "drop-oldest"
    # Whether no message leaves before an earlier one, so that what is slowed down holds up all.
    strict: bool = False


class TransportPart(Part, frozen=True, kw_only=True):
    """What publishers say of their past in every message."""

    # At most so many messages; with `cover_ms`, only as many as left within that time.
    record: Entries = 10
    cover_ms: Positive | None = None
    # Attributes whose numbers travel beside the fingerprints, so that ranges can be tested.
    numbers: list[str] = field(default_factory=list)
    # Entries are Bloom sets of so many bits, as in the paper, instead of fingerprints.
    bloom_bits: Annotated[int, Meta(ge=8, le=2040, multiple_of=8)] | None = None
    bloom_hashes: Annotated[int, Meta(ge=1, le=16)] = 3
    recovery: RecoveryPart = RecoveryPart(kind="off")
    congestion: CongestionPart = CongestionPart(kind="off")


class OffOrdering(Part, frozen=True, kw_only=True, tag_field="kind", tag="off"):
    """Messages are handed over as they arrive."""


class _LatchedOrdering(Part, frozen=True, kw_only=True):
    """What all have in common that wait for missing messages."""

    # What is done with a message that comes after others had been handed over.
    late: Literal["deliver", "drop"] = "deliver"
    # No message waits longer.
    max_delay_ms: LatchMs = 2_000
    # What comes after a lost message waits so long for its repair.
    hold_for_repair_ms: LatchMs = 0


class ConstantOrdering(
    _LatchedOrdering, frozen=True, kw_only=True, tag_field="kind", tag="constant"
):
    """CST-t: always waits as long; for the number before, or for what `record` entries tell of."""

    latch_ms: LatchMs
    record: Entries = 0


class LiteralOrdering(_LatchedOrdering, frozen=True, kw_only=True, tag_field="kind", tag="literal"):
    """P-x-y: the paper's algorithm, with x the chance and y the entries looked at."""

    chance: Annotated[float, Meta(gt=0, le=0.5)] = 0.05
    record: Entries = 25
    # By the formula that the paper prints, which takes the wrong branch.
    as_printed: bool = False


class DefaultOrdering(_LatchedOrdering, frozen=True, kw_only=True, tag_field="kind", tag="default"):
    """What the transport does unless told otherwise."""

    # Of missing messages that do come: how many come too late.
    chance: Annotated[float, Meta(gt=0, le=1)] = 0.003
    record: Entries = 255
    # Corrects the latch by what is seen where the law does not fit.
    empirical: bool = True


Ordering: TypeAlias = OffOrdering | ConstantOrdering | LiteralOrdering | DefaultOrdering
