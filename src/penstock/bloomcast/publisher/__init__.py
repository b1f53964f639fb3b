"""The sender of a transfer: rounds of symbols until all receivers are done."""
