"""`penstock filter`: checks, matches, explains and compares filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, TypeAlias

import typer

from penstock.cli import new_app
from penstock.cli.inputs import (
    decode_line,
    file_lines,
    read_argument,
    read_filter,
    read_message,
    stdin_is_piped,
    stdin_lines,
)
from penstock.cli.output import AsJson, on_terminal, print_json, print_table
from penstock.kernel.errors import UsageError

app = new_app(
    """Check filters, match messages against them, explain and compare.

    A filter is text such as 'price < 120', its JSON form, or @FILE.

    \b
    Example:
      penstock filter check 'symbol = "IBM" and (price < 120 or volume >= 1e6)'
    """
)

FilterText: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILTER", help="Filter text, its JSON form, or @FILE.")
]


@app.command()
def check(text: FilterText, as_json: AsJson = False) -> None:
    """Check a filter and print it in canonical form.

    \b
    Example:
      penstock filter check 'not (symbol = "IBM" or price >= 120)'
    """
    from penstock.content.syntax import format_predicate, to_json

    predicate = read_filter(text)
    constraints = sum(len(f.constraints) for f in predicate.filters)
    if as_json:
        print_json(
            {
                "text": format_predicate(predicate),
                "json": to_json(predicate),
                "filters": len(predicate.filters),
                "constraints": constraints,
            }
        )
        return
    typer.echo(format_predicate(predicate))
    typer.echo(
        f"{_count(len(predicate.filters), 'alternative')}, {_count(constraints, 'constraint')}"
    )


@app.command()
def match(
    text: FilterText,
    messages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MESSAGE", help="JSON objects, or @FILE of lines; - or none for stdin."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the messages that match: exit 0 if any did, 1 if none.

    Messages that cannot be read are reported on standard error and passed over;
    the exit code is then 2.

    \b
    Example:
      penstock filter match 'price < 120' '{"price": 101.5}' '{"price": 130}'
      tail -f ticks.jsonl | penstock filter match 'symbol = "IBM"'
    """
    predicate = read_filter(text)
    matched: list[object] = []
    bad: list[object] = []
    total = hits = 0
    for label, given in _candidates(messages or []):
        total += 1
        try:
            line = decode_line(given) if isinstance(given, bytes) else given.strip()
            message = read_message(line)
        except UsageError as error:
            typer.echo(f"penstock: {label}: {error}", err=True)
            bad.append({"where": label, "error": str(error)})
            continue
        if not predicate.matches(message):
            continue
        hits += 1
        if as_json:
            matched.append(dict(message.attributes))
        else:
            # In JSON, line ends occur only between tokens, where a blank means the same.
            typer.echo(line.replace("\r", " ").replace("\n", " "))
    if as_json:
        print_json({"matched": matched, "total": total, "bad": bad})
    if bad or not hits:
        raise typer.Exit(2 if bad else 1)


@app.command()
def explain(
    text: FilterText,
    message: Annotated[
        str, typer.Argument(metavar="MESSAGE", help="A JSON object, @FILE, or - for stdin.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say why a message matches, or which constraints it fails.

    \b
    Example:
      penstock filter explain 'price < 120 and exists volume' '{"price": 130}'
    """
    from penstock.content.explain import explain as judge
    from penstock.content.explain import render
    from penstock.content.syntax import format_constraint, format_filter

    explanation = judge(read_filter(text), read_message(read_argument(message)))
    if as_json:
        print_json(
            {
                "matched": explanation.matched,
                "filters": [
                    {
                        "text": format_filter(verdict.filter),
                        "matched": verdict.matched,
                        "failures": [
                            {"constraint": format_constraint(f.constraint), "why": f.why}
                            for f in verdict.failures
                        ],
                    }
                    for verdict in explanation.verdicts
                ],
            }
        )
    elif on_terminal() and explanation.verdicts:
        rows = [
            (
                format_filter(verdict.filter),
                _yes_or_no(verdict.matched),
                "\n".join(failure.why for failure in verdict.failures),
            )
            for verdict in explanation.verdicts
        ]
        typer.echo("match" if explanation.matched else "no match")
        print_table(("alternative", "matches", "why not"), rows)
    else:
        typer.echo(render(explanation))


@app.command()
def cover(
    a: Annotated[str, typer.Argument(metavar="A", help="Filter text, its JSON form, or @FILE.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    as_json: AsJson = False,
) -> None:
    """Compare two filters: does one cover the other, and do they overlap?

    A covers B if A matches whatever B matches; they overlap if some message matches
    both. Answers are certain unless they say otherwise: 'not shown' and 'perhaps'
    (false and true in JSON) mean that nothing could be proved.

    \b
    Example:
      penstock filter cover 'price < 120' 'price < 100 and symbol = "IBM"'
    """
    from penstock.content.covering import covers, overlaps

    left, right = read_filter(a), read_filter(b)
    answers = {
        "a_covers_b": covers(left, right),
        "b_covers_a": covers(right, left),
        "overlap": overlaps(left, right),
    }
    if as_json:
        print_json(answers)
        return
    rows = [
        ("A covers B", "yes" if answers["a_covers_b"] else "not shown"),
        ("B covers A", "yes" if answers["b_covers_a"] else "not shown"),
        ("A and B overlap", "perhaps" if answers["overlap"] else "no"),
    ]
    if on_terminal():
        print_table(("question", "answer"), rows)
    else:
        for question, answer in rows:
            typer.echo(f"{question}: {answer}")


def _candidates(arguments: list[str]) -> Iterator[tuple[str, str | bytes]]:
    """Yields each message as given, with its label for error messages."""
    if not arguments and not stdin_is_piped():
        raise UsageError(
            "no messages: give JSON objects as arguments, or pipe them in, one on a line"
        )
    for number, argument in enumerate(arguments or ["-"], start=1):
        if argument == "-":
            yield from ((f"line {number}", line) for number, line in stdin_lines())
        elif argument.startswith("@"):
            yield from ((f"{argument[1:]}: line {n}", line) for n, line in file_lines(argument[1:]))
        else:
            yield f"message {number}", argument


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _yes_or_no(answer: bool) -> str:
    return "yes" if answer else "no"
