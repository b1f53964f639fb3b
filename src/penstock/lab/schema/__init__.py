"""The tables of an experiment file."""
