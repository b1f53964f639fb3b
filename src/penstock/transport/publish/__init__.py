"""The way out: sequence numbers, publication records, congestion headers."""
