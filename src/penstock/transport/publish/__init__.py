"""The publishing side: sequence numbers, publication records, congestion headers."""
