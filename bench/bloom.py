"""What Bloom sets cost, and whether they err as often as predicted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from random import Random
from typing import Final

from bench.result import Case, Note, Result, seconds_per_call
from penstock.content.bloom import BloomParams, FilterTable, subset
from penstock.content.constraint import Constraint, Op
from penstock.content.covering import minimal
from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.content.value import Value
from penstock.kernel.seeds import Seeds

SALT: Final = b"bench"
ATTRIBUTES: Final = 10
VALUES: Final = 500
MESSAGES: Final = 200
TABLE_SIZES: Final = (1_000, 10_000, 100_000)
STRANGERS: Final = 20_000
RANGES: Final = 2_000

# Short calls are timed in many short rounds, so that one at least is quiet.
_timed = partial(seconds_per_call, rounds=20)


def run(note: Note) -> Result:
    """Subset tests one by one and by table, encoding cold and warm, false-positive rates."""
    seeds = Seeds(1)
    rng = seeds.rng("messages")
    messages = [Message({_name(i): _value(rng, i) for i in range(10)}) for _ in range(MESSAGES)]
    # First what makes few objects: the collector is slower once there are many.
    cases = [*_one_against_one(messages), *_encoding(messages, note)]
    scans, speedup = _tables(messages, seeds.rng("filters"), note)
    rates, excess = _false_positives(seeds.rng("strangers"), note)
    return Result(
        "bloom",
        [*cases, *scans, *rates, _minimal(seeds.rng("ranges"), note)],
        ratios={"naive_scan_to_table": speedup, "false_positives_to_predicted": excess},
        ratio_goals={"naive_scan_to_table": ">= 10", "false_positives_to_predicted": "<= 1.1"},
    )


def _name(i: int) -> str:
    return f"attribute{i}"


def _value(rng: Random, i: int) -> Value:
    number = rng.randrange(VALUES)
    return number if i % 2 else f"value {number}"


def _one_against_one(messages: list[Message]) -> Iterator[Case]:
    encoder = Encoder(SALT)
    inner = encoder.filter_bits(Filter([Constraint(_name(1), Op.EQ, 7)]))
    outer = encoder.message_bits(messages[0])
    spent = _timed(lambda: subset(inner, outer))
    yield Case("one filter, one message, 256 bits", "subset test", spent * 1e9, "ns", "<= 200")


def _encoding(messages: list[Message], note: Note) -> Iterator[Case]:
    note("encoding messages of 10 attributes")
    warm = Encoder(SALT)
    turn = cycle(messages)
    for message in messages:
        warm.message_bits(message)
    spent = _timed(lambda: warm.message_bits(_fresh(next(turn))))
    yield Case("10 attributes, all seen before", "encoding", spent * 1e6, "µs", "<= 15")
    spent = _timed(lambda: Encoder(SALT).message_bits(_fresh(next(turn))))
    yield Case("10 attributes, none seen before", "encoding", spent * 1e6, "µs", "<= 80")
    spent = _timed(lambda: warm.message_fingerprints(_fresh(next(turn))))
    yield Case("10 attributes, all seen before", "fingerprints", spent * 1e6, "µs")


def _fresh(message: Message) -> Message:
    """As it comes from the wire, with nothing remembered in it."""
    return Message.trusted(message.attributes)


def _tables(messages: list[Message], rng: Random, note: Note) -> tuple[list[Case], float]:
    """Scans of growing tables, and how much quicker the largest is than its naive twin."""
    encoder = Encoder(SALT)
    turn = cycle([encoder.message_bits(message) for message in messages])
    table: FilterTable[int] = FilterTable(encoder.params.m)
    plain: list[int] = []
    cases = []
    sets = _filter_sets(encoder, rng)
    for size in TABLE_SIZES:
        note(f"one message against {size:,} filters")
        while len(table) < size:
            plain.append(next(sets))
            table.add(len(table), plain[-1])
        spent = _timed(lambda: table.matching(next(turn)))
        goal = "<= 500" if size == TABLE_SIZES[-1] else ""
        cases.append(Case(f"{size} filters, table", "scan", spent * 1e6, "µs", goal))
    naive = _timed(lambda: _naive_scan(plain, next(turn)))
    cases.append(Case(f"{len(plain)} filters, naive", "scan", naive * 1e6, "µs"))
    return cases, naive / spent


def _filter_sets(encoder: Encoder, rng: Random) -> Iterator[int]:
    """Sets of filters of one to three equalities: that of a conjunction unites its parts'."""
    known: dict[tuple[int, Value], int] = {}
    while True:
        bits = 0
        for i in rng.sample(range(ATTRIBUTES), rng.randrange(1, 4)):
            key = i, _value(rng, i)
            if key not in known:
                known[key] = encoder.filter_bits(Filter([Constraint(_name(i), Op.EQ, key[1])]))
            bits |= known[key]
        yield bits


def _naive_scan(plain: list[int], message: int) -> list[int]:
    return [handle for handle, bits in enumerate(plain) if bits & message == bits]


def _false_positives(rng: Random, note: Note) -> tuple[list[Case], float]:
    """Sets of twenty tags asked for one that they do not hold; and the worst excess."""
    cases: list[Case] = []
    excess = 0.0
    for params in (BloomParams(256, 5), BloomParams(512, 7)):
        note(f"false positives of {params.m} bits, k={params.k}")
        table: FilterTable[int] = FilterTable(params.m)
        for handle in range(STRANGERS):
            table.add(handle, params.bits_of_fingerprint(rng.getrandbits(64)))
        tags = 2 * ATTRIBUTES
        sets = [
            params.bits_of_fingerprints(rng.getrandbits(64) for _ in range(tags))
            for _ in range(MESSAGES)
        ]
        fill = sum(bits.bit_count() for bits in sets) / len(sets) / params.m
        rate = sum(len(table.matching(bits)) for bits in sets) / len(sets) / STRANGERS
        predicted = params.false_positive_rate(tags)
        excess = max(excess, rate / predicted)
        case = f"{params.m} bits, k={params.k}, {tags} tags"
        cases += [
            Case(case, "fill", fill, ""),
            Case(case, "fill, predicted", params.fill(tags), ""),
            Case(case, "false positives", rate, ""),
            Case(case, "false positives, predicted", predicted, ""),
        ]
    return cases, excess


def _minimal(rng: Random, note: Note) -> Case:
    note(f"dropping what is covered among {RANGES:,} filters")
    filters = []
    for _ in range(RANGES):
        low = rng.randrange(5 * RANGES)
        rules = [
            Constraint("price", Op.GE, low),
            Constraint("price", Op.LT, low + rng.randrange(1, 9)),
        ]
        if rng.random() < 0.5:
            rules.append(Constraint("symbol", Op.EQ, f"S{rng.randrange(100)}"))
        filters.append(Filter(rules))
    spent = seconds_per_call(lambda: minimal(filters))
    return Case(f"{RANGES} filters", "dropping the covered", spent * 1e3, "ms")
