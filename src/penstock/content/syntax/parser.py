"""A recursive-descent parser from tokens to a tree.

    either     = both { "or" both }
    both       = unary { "and" unary }
    unary      = { "not" } ( "(" either ")" | "exists" NAME | "true" | "false" | test )
    test       = NAME [ "not" ] ( "in" "(" LITERAL { "," LITERAL } [ "," ] ")"
                                | ( "prefix" | "suffix" | "contains" ) LITERAL )
               | operand COMPARISON operand { COMPARISON operand }
    operand    = NAME | LITERAL

In a comparison one of two neighbours is a name and the other a literal; `10 <= price < 20` is
`10 <= price and price < 20`. A `?` is a literal too, whose value is given beside the text. Only
parentheses recurse, and their depth is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.content.constraint import Constraint, Op, Operand
from penstock.content.limits import NESTING_MAX
from penstock.content.syntax.advice import about_operator, about_value
from penstock.content.syntax.errors import FilterSyntaxError
from penstock.content.syntax.lexer import KEYWORDS, Kind, Token, tokens
from penstock.content.syntax.tree import Conjunction, Disjunction, Leaf, Negation, Node
from penstock.content.value import Value, check_name, check_value
from penstock.kernel.errors import UsageError

_COMPARISONS: Final = {op.value: op for op in (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)}
_FLIPPED: Final = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
_WORDS: Final = {op.value: op for op in (Op.IN, Op.PREFIX, Op.SUFFIX, Op.CONTAINS)}


class Parser:
    """Parses one text, once, with one token of lookahead; each `?` is the next of `values`."""

    def __init__(self, text: str, values: Sequence[Value] = ()) -> None:
        self._text = text
        self._tokens = tokens(text, values)
        self._ahead: Token | None = None
        self._depth = 0

    def tree(self) -> Node:
        """The tree of the whole text."""
        if self._peek().kind is Kind.END:
            raise self._error("the text is empty: write true to match everything", self._peek())
        tree = self._either()
        if self._peek().kind is not Kind.END:
            raise self._error(f"expected 'and' or 'or', found {self._peek()}", self._peek())
        return tree

    def _either(self) -> Node:
        at = self._peek().at
        children = [self._both()]
        while self._skip("or"):
            children.append(self._both())
        return children[0] if len(children) == 1 else Disjunction(tuple(children), at)

    def _both(self) -> Node:
        at = self._peek().at
        children = [self._unary()]
        while self._skip("and"):
            children.append(self._unary())
        return children[0] if len(children) == 1 else Conjunction(tuple(children), at)

    def _unary(self) -> Node:
        at = self._peek().at
        negated = False
        while self._skip("not"):
            negated = not negated
        node = self._positive()
        return Negation(node, at) if negated else node

    def _positive(self) -> Node:
        token = self._take()
        if token.text == "(" and token.kind is Kind.WORD:
            return self._group(token)
        if token.text == "exists" and token.kind is Kind.WORD:
            return self._exists(token)
        if token.kind is Kind.NAME:
            return self._test(token)
        if token.kind is Kind.LITERAL:
            return self._from_literal(token)
        reason = f"expected an attribute's name, found {token}"
        if token.text in KEYWORDS:
            reason += f" (a name that is a keyword goes in backticks: `{token.raw}`)"
        raise self._error(reason, token)

    def _group(self, opening: Token) -> Node:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise self._error(f"parentheses nest at most {NESTING_MAX} deep", opening)
        node = self._either()
        if not self._skip(")"):
            raise self._error(
                f"expected ')' for the '(' at column {self._column(opening)}, found {self._peek()}",
                self._peek(),
            )
        self._depth -= 1
        return node

    def _exists(self, word: Token) -> Node:
        name = self._take()
        if name.kind is not Kind.NAME:
            raise self._error(f"expected an attribute's name after 'exists', found {name}", name)
        return self._leaf(name, Op.EXISTS, None, word)

    def _from_literal(self, literal: Token) -> Node:
        if self._peek().kind is Kind.COMPARISON:
            return self._chain(literal)
        if literal.text == "true":
            return Conjunction((), literal.at)
        if literal.text == "false":
            return Disjunction((), literal.at)
        if self._peek().text in _WORDS and self._peek().kind is Kind.WORD:
            raise self._error(
                f"the left side of '{self._peek().text}' must be an attribute's name", literal
            )
        raise self._error(
            f"expected a comparison after {literal}, found {self._peek()}", self._peek()
        )

    def _test(self, name: Token) -> Node:
        if self._peek().kind is Kind.COMPARISON:
            return self._chain(name)
        at = self._peek().at
        negated = self._skip("not")
        word = self._take()
        if word.kind is not Kind.WORD or word.text not in _WORDS:
            raise self._error(about_operator(name, word, negated=negated), word)
        node = self._membership(name, word) if word.text == "in" else self._textual(name, word)
        return Negation(node, at) if negated else node

    def _textual(self, name: Token, word: Token) -> Node:
        value = self._value(word)
        return self._leaf(name, _WORDS[word.text], value.value, value)

    def _membership(self, name: Token, word: Token) -> Node:
        if not self._skip("("):
            raise self._error(f"expected '(' after 'in', found {self._peek()}", self._peek())
        choices = []
        while not self._skip(")"):
            choices.append(self._value(word).value)
            if not self._skip(",") and not self._at(")"):
                raise self._error(f"expected ',' or ')', found {self._peek()}", self._peek())
        return self._leaf(name, Op.IN, tuple(choices), word)

    def _chain(self, left: Token) -> Node:
        at = left.at
        links: list[Node] = []
        while self._peek().kind is Kind.COMPARISON:
            sign = self._take()
            right = self._operand(left, sign)
            links.append(self._comparison(left, sign, right))
            left = right
        return links[0] if len(links) == 1 else Conjunction(tuple(links), at)

    def _operand(self, left: Token, sign: Token) -> Token:
        if left.kind is Kind.NAME:
            return self._value(sign)
        token = self._take()
        if token.kind is not Kind.NAME:
            raise self._error(
                f"expected an attribute's name after '{sign.raw}', found {token}", token
            )
        return token

    def _comparison(self, left: Token, sign: Token, right: Token) -> Node:
        op = _COMPARISONS[sign.text]
        if left.kind is Kind.NAME:
            return self._leaf(left, op, right.value, right)
        return self._leaf(right, _FLIPPED.get(op, op), left.value, left)

    def _value(self, after: Token) -> Token:
        token = self._take()
        if token.kind is not Kind.LITERAL:
            raise self._error(about_value(after, token), token)
        try:
            check_value(token.value)
        except UsageError as error:
            raise self._error(str(error), token) from None
        return token

    def _leaf(self, name: Token, op: Op, operand: Operand, blame: Token) -> Node:
        """A constraint; if it is invalid, the error is reported at `blame`."""
        try:
            check_name(name.text)
        except UsageError as error:
            raise self._error(str(error), name) from None
        try:
            return Leaf(Constraint(name.text, op, operand), name.at)
        except UsageError as error:
            raise self._error(str(error), blame) from None

    def _peek(self) -> Token:
        # Read on demand: the lexer must not report an error before the parser would.
        if self._ahead is None:
            self._ahead = next(self._tokens)
        return self._ahead

    def _take(self) -> Token:
        token = self._peek()
        self._ahead = None
        return token

    def _at(self, word: str) -> bool:
        return self._peek().kind is Kind.WORD and self._peek().text == word

    def _skip(self, word: str) -> bool:
        if not self._at(word):
            return False
        self._ahead = None
        return True

    def _column(self, token: Token) -> int:
        return FilterSyntaxError("", self._text, token.at).column

    def _error(self, reason: str, token: Token) -> FilterSyntaxError:
        return FilterSyntaxError(reason, self._text, token.at)
