"""Splits the text of a filter into tokens.

Knows words, numbers and strings, but not their order. Tokens are produced one at a time, so that
the leftmost mistake of a text is the one reported, whichever layer finds it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple

from penstock.content.limits import INT_MAX
from penstock.content.syntax.errors import FilterSyntaxError, show
from penstock.content.value import Value

KEYWORDS: Final = frozenset(
    {"and", "or", "not", "in", "prefix", "suffix", "contains", "exists", "true", "false"}
)

# A hyphen or a dot may join parts of a name: there is no subtraction.
_NAME: Final = r"[^\W\d]\w*(?:[.-]\w+)*"
_BARE_NAME: Final = re.compile(_NAME)

_ALIASES: Final = {"==": "=", "<>": "!=", "&&": "and", "||": "or", "!": "not"}

NO_PATTERNS: Final = "there are no regular expressions, write prefix, suffix or contains"
_MISTAKES: Final = {
    "=~": NO_PATTERNS,
    "!~": NO_PATTERNS,
    "~": NO_PATTERNS,
    "===": "write =",
    "!==": "write !=",
    "=<": "write <=",
    "=>": "write >=",
    ":": "write =",
    "&": "write and",
    "|": "write or",
    "[": "lists are written in parentheses: (1, 2)",
    "{": "lists are written in parentheses: (1, 2)",
    "“": 'strings take straight quotes: "text"',
    "”": 'strings take straight quotes: "text"',
    "‘": "strings take straight quotes: 'text'",
    "’": "strings take straight quotes: 'text'",
}

_TOKEN: Final = re.compile(
    rf"""
      (?P<blank>      (?: \s | \#[^\n]* )+ )
    | (?P<name>       {_NAME} )
    | (?P<number>     [+-]? (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? )
    | (?P<quoted>     "(?: [^"\\\r\n] | \\. )*"
                    | '(?: [^'\\\r\n] | \\. )*'
                    | `(?: [^`\\\r\n] | \\. | `` )*` )
    | (?P<unclosed>   ["'`] )
    | (?P<mistake>    === | !== | =~ | !~ | =< | => | &(?!&) | \|(?!\|) | [~:\[{{“”‘’] )
    | (?P<comparison> == | <> | != | <= | >= | [=<>] )
    | (?P<connective> && | \|\| | ! )
    | (?P<mark>       [(),] )
    | (?P<given>      \? )
    """,
    re.VERBOSE,
)
_NUMBER_TAIL: Final = re.compile(r"[\w.]*")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|``")
_ESCAPED: Final = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


class Kind(Enum):
    """The types of token that the parser distinguishes."""

    NAME = "name"
    LITERAL = "literal"
    COMPARISON = "comparison"
    # Keywords other than true and false, parentheses and commas.
    WORD = "word"
    END = "end"


class Token(NamedTuple):
    """`text` is canonical (`AND` and `&&` are `and`), `raw` is as written."""

    kind: Kind
    text: str
    raw: str
    at: int
    value: Value = False

    def __str__(self) -> str:
        if self.kind is Kind.END:
            return "the end of the text"
        return show(self.raw) if self.raw[0] in "\"'`" else f"'{show(self.raw)}'"


def is_bare_name(name: str) -> bool:
    """Whether a name can be written without backticks."""
    return _BARE_NAME.fullmatch(name) is not None and name.lower() not in KEYWORDS


def tokens(text: str, values: Sequence[Value] = ()) -> Iterator[Token]:
    """The tokens of `text`, followed by END without limit; each `?` is the next of `values`."""
    at = taken = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise FilterSyntaxError(f"unexpected '{show(text[at])}'", text, at)
        if found.lastgroup == "given":
            if taken == len(values):
                raise FilterSyntaxError(_no_value_for(taken), text, at)
            yield Token(Kind.LITERAL, "?", "?", at, values[taken])
            taken += 1
        elif found.lastgroup != "blank":
            yield _token(found.lastgroup or "", found.group(), text, at)
        at = found.end()
    if taken < len(values):
        raise FilterSyntaxError(
            f"{len(values)} values for {taken} '?': give one for each '?'", text, len(text)
        )
    while True:
        yield Token(Kind.END, "", "", len(text))


def _no_value_for(taken: int) -> str:
    if not taken:
        return "no value for '?': write the value itself, or give one for each '?'"
    return f"only {taken} given for this '?': give one value for each '?'"


def _token(group: str, raw: str, text: str, at: int) -> Token:
    if group == "name":
        return _word(raw, at)
    if group == "number":
        return Token(Kind.LITERAL, raw, raw, at, _number(raw, text, at))
    if group == "quoted":
        content = _unescape(raw, text, at)
        if raw[0] == "`":
            return Token(Kind.NAME, content, raw, at)
        return Token(Kind.LITERAL, raw, raw, at, content)
    if group == "unclosed":
        what = "name" if raw == "`" else "string"
        raise FilterSyntaxError(f"this {what} has no closing {raw} on its line", text, at)
    if group == "mistake":
        raise FilterSyntaxError(f"unexpected '{raw}': {_MISTAKES[raw]}", text, at)
    kind = Kind.COMPARISON if group == "comparison" else Kind.WORD
    return Token(kind, _ALIASES.get(raw, raw), raw, at)


def _word(raw: str, at: int) -> Token:
    lower = raw.lower()
    if lower not in KEYWORDS:
        return Token(Kind.NAME, raw, raw, at)
    if lower in ("true", "false"):
        return Token(Kind.LITERAL, lower, raw, at, lower == "true")
    return Token(Kind.WORD, lower, raw, at)


def _number(raw: str, text: str, at: int) -> int | float:
    tail = _NUMBER_TAIL.match(text, at + len(raw))
    if tail is not None and tail.group():
        raise FilterSyntaxError(
            f"'{show(raw + tail.group())}' is no number"
            " (a string goes in quotes, a name that begins with a digit in backticks)",
            text,
            at,
        )
    digits = raw.lstrip("+-")
    if digits.isdecimal():
        # Checked before conversion, whose cost is quadratic in the number of digits.
        significant = digits.lstrip("0")
        if len(significant) > len(str(INT_MAX)):
            raise FilterSyntaxError(f"integers must fit 64 bits: {show(raw)}", text, at)
        return -int(significant or "0") if raw[0] == "-" else int(significant or "0")
    number = float(raw)
    if not math.isfinite(number):
        raise FilterSyntaxError(f"{show(raw)} is too large for a number", text, at)
    return number


def _unescape(raw: str, text: str, at: int) -> str:
    body = raw[1:-1]
    if "\\" not in body and raw[0] != "`":
        return body

    def replace(found: re.Match[str]) -> str:
        code = found.group(1)
        if code is None:
            return "`" if raw[0] == "`" else "``"
        if code in _ESCAPED:
            return _ESCAPED[code]
        if len(code) > 1:
            point = int(code[1:], 16)
            if point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
                return chr(point)
            reason = f"\\{code} is no character: \\u takes 4 hexadecimal digits, \\U takes 8"
        else:
            reason = (
                f"unknown escape '\\{show(code)}': write \\\\ for a backslash"
                " (known: \\n \\t \\\\ \\\" \\' \\uXXXX \\UXXXXXXXX)"
            )
        raise FilterSyntaxError(reason, text, at + 1 + found.start())

    return _ESCAPE.sub(replace, body)
