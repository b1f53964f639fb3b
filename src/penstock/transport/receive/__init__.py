"""The receiving side: duplicate detection, publisher state, and matching subscriptions."""
