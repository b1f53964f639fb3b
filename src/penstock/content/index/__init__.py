"""The matching index: a message in, the ids of the predicates it satisfies out."""

from penstock.content.index.index import MatchingIndex
from penstock.content.index.naive import NaiveIndex

__all__ = ["MatchingIndex", "NaiveIndex"]
