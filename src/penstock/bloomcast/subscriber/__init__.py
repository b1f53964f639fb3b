"""A receiver of a transfer: what it has, and what it reports missing."""
