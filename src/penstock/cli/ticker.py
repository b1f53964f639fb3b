"""`penstock ticker`: demonstrates matching on a generated stock ticker.

Shows the matches of each interest, which interests cover others, and the measured and
predicted false positive rates of Bloom summaries of messages.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, print_json, print_table
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.content.filter import Predicate
    from penstock.content.message import Message

app = new_app("Interests at work on a generated stock ticker.")

SUBSCRIBERS: Final = {
    "desk": 'symbol = "IBM" and price < 120',
    "chips": 'symbol in ("AMD", "ARM", "INTC", "NVDA")',
    "chips, large": 'symbol in ("AMD", "NVDA") and volume >= 5000',
    "nyse": 'market = "NYSE"',
    "nyse, cheap": 'market = "NYSE" and price < 50 and currency = "USD"',
    "a to b": 'symbol prefix "A" or symbol prefix "B"',
    "halts": "halted = true",
    "odd lots": 'not volume >= 100 and not side = "auction"',
}
# fmt: off
SYMBOLS: Final = (
    "AAPL", "AMD", "AMZN", "ARM", "AXP", "BA", "BAC", "C", "CAT", "CRM", "CSCO", "CVX", "DIS",
    "GE", "GM", "GOOG", "GS", "HD", "HON", "HPQ", "IBM", "INTC", "JNJ", "JPM", "KO", "LMT", "MCD",
    "META", "MMM", "MRK", "MSFT", "NFLX", "NKE", "NVDA", "ORCL", "PEP", "PFE", "PG", "QCOM", "SAP",
    "T", "TSM", "UNH", "V", "VZ", "WMT", "XOM",
)
# fmt: on
SIZES: Final = ((128, 3), (256, 3), (256, 5), (512, 7))
MESSAGES_MAX: Final = 1_000_000
OTHER_INTERESTS: Final = 5_000
NAIVE_TICKS: Final = 100
SALTS: Final = 40


@app.command()
def ticker(
    messages: Annotated[int, typer.Option(help="How many ticks to generate.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same ticks.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Match, compare and summarise interests on a generated stock ticker.

    \b
    Example:
      penstock ticker
      penstock ticker --messages 100000 --seed 7
    """
    if not 1 <= messages <= MESSAGES_MAX:
        raise UsageError(f"--messages must be 1 to {MESSAGES_MAX:,}, not {messages:,}")
    from penstock.content.index.narrow import compiled_narrow
    from penstock.content.syntax import parse
    from penstock.kernel.seeds import Seeds

    interests = {name: parse(text) for name, text in SUBSCRIBERS.items()}
    ticks = list(_ticks(Seeds(seed).rng("ticker"), messages))
    matched, index_rate, naive_rate = _match(interests, ticks, Seeds(seed).rng("crowd"))
    summary = Summary(
        messages=messages,
        seed=seed,
        matched=matched,
        compiled=compiled_narrow() is not None,
        index_rate=index_rate,
        naive_rate=naive_rate,
        covered_by=_coverings(interests),
        encoding=_encodings(ticks, Seeds(seed).rng("encoding")),
        false_negatives=_false_negatives(interests, ticks),
    )
    if as_json:
        print_json(asdict(summary))
    else:
        _show(summary, ticks[0])


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of the demonstration; rates are messages per second."""

    messages: int
    seed: int
    matched: dict[str, int]
    compiled: bool
    index_rate: float
    naive_rate: float
    covered_by: dict[str, list[str]]
    encoding: list[dict[str, float]]
    false_negatives: int


def _ticks(rng: Random, count: int) -> Iterator[Message]:
    """Generates ticks: each price is a random walk, and popular symbols trade more often."""
    from penstock.content.message import Message

    prices = {symbol: rng.uniform(20, 400) for symbol in SYMBOLS} | {"IBM": 120.0}
    weights = [1 / (rank + 1) for rank in range(len(SYMBOLS))]
    popular = rng.sample(SYMBOLS, len(SYMBOLS))
    for tick in range(count):
        symbol = rng.choices(popular, weights)[0]
        prices[symbol] *= rng.uniform(0.995, 1.005)
        yield Message(
            {
                "symbol": symbol,
                "price": round(prices[symbol], 2),
                "volume": int(10 ** rng.uniform(0, 5)),
                "market": "NYSE" if len(symbol) < 4 else "NASDAQ",
                "currency": "USD" if rng.random() < 0.9 else "EUR",
                "side": rng.choice(("buy", "sell", "auction")),
                "venue": rng.randrange(40),
                "broker": f"b{rng.randrange(500)}",
                "halted": rng.random() < 0.01,
                "tick": tick,
            }
        )


def _match(
    interests: dict[str, Predicate], ticks: list[Message], rng: Random
) -> tuple[dict[str, int], float, float]:
    """Matches per interest, and messages per second among `OTHER_INTERESTS` more interests."""
    from time import perf_counter

    from penstock.content.index import MatchingIndex, NaiveIndex

    index: MatchingIndex[str] = MatchingIndex()
    naive: NaiveIndex[str] = NaiveIndex()
    for name, interest in (interests | _other_interests(rng)).items():
        index.add(name, interest)
        naive.add(name, interest)
    index.match(ticks[0])  # the first one compiles
    start = perf_counter()
    matches = [index.match(tick) for tick in ticks]
    index_rate = len(ticks) / (perf_counter() - start)
    counts = {name: sum(name in found for found in matches) for name in interests}
    sample = ticks[:NAIVE_TICKS]
    start = perf_counter()
    for tick, answer in zip(sample, matches, strict=False):
        assert sorted(answer) == sorted(naive.match(tick)), "the index and its twin differ"
    return counts, index_rate, len(sample) / (perf_counter() - start)


def _other_interests(rng: Random) -> dict[str, Predicate]:
    """Interests of further subscribers, each in one symbol and one range of prices."""
    from penstock.content.constraint import Constraint, Op
    from penstock.content.filter import Filter, Predicate

    crowd = {}
    for index in range(OTHER_INTERESTS):
        low = rng.uniform(0, 400)
        constraints = [
            Constraint("symbol", Op.EQ, rng.choice(SYMBOLS)),
            Constraint("price", Op.GE, round(low, 2)),
            Constraint("price", Op.LT, round(low + rng.uniform(1, 20), 2)),
        ]
        crowd[f"crowd {index}"] = Predicate([Filter(constraints)])
    return crowd


def _coverings(interests: dict[str, Predicate]) -> dict[str, list[str]]:
    from penstock.content.covering import covers

    wider = {
        name: [other for other, wide in interests.items() if other != name and covers(wide, own)]
        for name, own in interests.items()
    }
    return {name: others for name, others in wider.items() if others}


def _encodings(ticks: list[Message], rng: Random) -> list[dict[str, float]]:
    """Measured and predicted false positive rates of equalities, by size of the summary."""
    from penstock.content.bloom import BloomParams, subset
    from penstock.content.constraint import Constraint, Op
    from penstock.content.filter import Filter
    from penstock.content.tags import Encoder

    filters = [
        Filter([Constraint("broker", Op.EQ, f"c{rng.randrange(10**9)}")]) for _ in range(200)
    ]
    rows = []
    for params in (BloomParams(m, k) for m, k in SIZES):
        wrong = tests = tags = 0
        # All ticks have the same attribute names, so a single salt would bias all of them.
        for salt in range(SALTS):
            encoder = Encoder(salt.to_bytes(), params=params)
            filter_sets = [encoder.filter_bits(f) for f in filters]
            for tick in ticks[salt :: len(ticks) // 50 + 1]:
                bits = encoder.message_bits(tick)
                wrong += sum(subset(own, bits) for own in filter_sets)
                tests += len(filter_sets)
                tags += 2 * len(tick.attributes) * len(filter_sets)
        predicted = params.false_positive_rate(round(tags / tests))
        rows.append(
            {
                "bits": params.m,
                "bits_per_tag": params.k,
                "predicted": predicted,
                "measured": wrong / tests,
            }
        )
    return rows


def _false_negatives(interests: dict[str, Predicate], ticks: list[Message]) -> int:
    """Counts matches that a summary misses; the result is 0 for any size."""
    from penstock.content.bloom import subset
    from penstock.content.tags import Encoder

    encoder = Encoder(b"demo")
    filters = [(f, encoder.filter_bits(f)) for own in interests.values() for f in own.filters]
    return sum(
        not subset(bits, encoder.message_bits(tick))
        for tick in ticks[:2_000]
        for f, bits in filters
        if f.matches(tick)
    )


def _show(summary: Summary, first: Message) -> None:
    from penstock.content.explain import explain, render
    from penstock.content.syntax import format_predicate, parse

    count = summary.messages
    _print_paragraph(f"A ticker of {count:,} messages (seed {summary.seed}); the first one:")
    _print_paragraph(json.dumps(dict(first.attributes)), indent="  ")
    _print_paragraph("Who gets what")
    rows = [
        (name, SUBSCRIBERS[name], f"{n:,}", f"{n / count:.2%}")
        for name, n in summary.matched.items()
    ]
    print_table(("subscriber", "interest", "matches", "share"), rows)
    ratio = summary.index_rate / summary.naive_rate
    _print_paragraph(
        f"\nAmong {OTHER_INTERESTS:,} other interests,"
        f" {summary.index_rate:,.0f} messages/s find theirs"
        f" through the index, {summary.naive_rate:,.0f} by trying every filter ({ratio:.0f}×), with"
        f" the same answers."
        + ("" if summary.compiled else " Several times more with 'pip install penstock[fast]'.")
    )
    _print_paragraph("What a broker need not advertise: interests that others cover")
    print_table(
        ("interest of", "in canonical form", "is covered by"),
        [
            (name, format_predicate(parse(SUBSCRIBERS[name])), ", ".join(others))
            for name, others in summary.covered_by.items()
        ],
    )
    _print_paragraph("\nWhy the first message is not for 'desk'")
    typer.echo("  " + render(explain(parse(SUBSCRIBERS["desk"]), first)).replace("\n", "\n  "))
    _print_paragraph("\nHow often a message's Bloom summary wrongly says 'may match'")
    print_table(
        ("bits", "bytes", "bits per tag", "predicted", "measured"),
        [
            (str(r["bits"]), str(r["bits"] // 8), str(r["bits_per_tag"]), f"{r['predicted']:.5f}",
             f"{r['measured']:.5f}")
            for r in summary.encoding
        ],
    )  # fmt: skip
    typer.echo(f"\nMatches that a summary missed: {summary.false_negatives}")


def _print_paragraph(text: str, indent: str = "") -> None:
    """Prints a paragraph wrapped at 80 columns."""
    lead = "\n" if text.startswith("\n") else ""
    typer.echo(
        lead + textwrap.fill(text.strip(), 80, initial_indent=indent, subsequent_indent=indent)
    )
    typer.echo()
