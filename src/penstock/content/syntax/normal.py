"""Converts a tree to a predicate: negation to the leaves, then `and` over `or`.

Pushing a negation inwards is sound because a constraint and its opposite form a three-valued logic:
where neither holds (the attribute is missing, or of another kind) both are unknown, and De Morgan's
laws hold there too.

A term (a conjunction of constraints) is an integer with one bit per distinct constraint, so that
joining two terms is `|`, and term a includes term b if `a & b == a`. Distribution works on lists
that never exceed the limits: it is refused while it grows, not afterwards.

Where `and` is distributed over `or`, an alternative that another already includes is dropped: `(a
or b) and (a or c)` is `a or b and c`. Alternatives that were written side by side are kept.
"""

from __future__ import annotations

from penstock.content.constraint import NEGATION, Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import CONSTRAINTS_MAX, FILTERS_MAX
from penstock.content.syntax.errors import FilterSyntaxError
from penstock.content.syntax.tree import Conjunction, Leaf, Negation, Node


def to_predicate(tree: Node, text: str) -> Predicate:
    """The disjunctive normal form of `tree`; `text` is for error messages."""
    expansion = _Expansion(text)
    return Predicate(map(expansion.filter, expansion.terms(tree, negated=False)))


class _Expansion:
    def __init__(self, text: str) -> None:
        self._text = text
        self._bits: dict[Constraint, int] = {}

    def filter(self, term: int) -> Filter:
        return Filter(constraint for constraint, bit in self._bits.items() if bit & term)

    def terms(self, node: Node, *, negated: bool) -> list[int]:
        """The alternatives of `node`, or of its negation."""
        if isinstance(node, Leaf):
            return [self._leaf(node, negated)]
        if isinstance(node, Negation):
            return self.terms(node.child, negated=not negated)
        parts = [self.terms(child, negated=negated) for child in node.children]
        if isinstance(node, Conjunction) is negated:
            return self._either(parts, node.children)
        return self._both(parts, node.at)

    def _leaf(self, leaf: Leaf, negated: bool) -> int:
        constraint = leaf.constraint
        attribute, op = constraint.attribute, constraint.op
        if not negated:
            return self._bit(constraint)
        if op is not Op.IN:
            return self._bit(Constraint(attribute, NEGATION[op], constraint.operand))
        term = 0
        for choice in constraint.choices:
            term |= self._bit(Constraint(attribute, Op.NE, choice))
        self._check_size(term, leaf.at)
        return term

    def _bit(self, constraint: Constraint) -> int:
        return self._bits.setdefault(constraint, 1 << len(self._bits))

    def _either(self, parts: list[list[int]], children: tuple[Node, ...]) -> list[int]:
        terms: dict[int, None] = {}
        for part, child in zip(parts, children, strict=True):
            terms.update(dict.fromkeys(part))
            if len(terms) > FILTERS_MAX:
                raise FilterSyntaxError(
                    f"a predicate has at most {FILTERS_MAX} filters, and this is one more:"
                    " subscribe to the parts separately",
                    self._text,
                    child.at,
                )
        return list(terms)

    def _both(self, parts: list[list[int]], at: int) -> list[int]:
        terms = [0]
        # The shortest first: they keep intermediate results small, and `false` ends the loop.
        for part in sorted(parts, key=len):
            terms = self._product(terms, part, at)
        return terms

    def _product(self, left: list[int], right: list[int], at: int) -> list[int]:
        pairs = {one | other for one in left for other in right}
        kept: list[int] = []
        # By ascending size: a term can only be included by an earlier one.
        for term in sorted(pairs, key=lambda pair: (pair.bit_count(), pair)):
            for smaller in kept:
                if smaller & term == smaller:
                    break
            else:
                self._check_size(term, at)
                kept.append(term)
                if len(kept) > FILTERS_MAX:
                    raise FilterSyntaxError(
                        f"this becomes more than {FILTERS_MAX} filters when 'and' is"
                        " distributed over 'or': subscribe to the parts separately",
                        self._text,
                        at,
                    )
        return kept

    def _check_size(self, term: int, at: int) -> None:
        if term.bit_count() > CONSTRAINTS_MAX:
            raise FilterSyntaxError(
                f"more than {CONSTRAINTS_MAX} constraints must hold together here"
                " (not in counts one for each value)",
                self._text,
                at,
            )
