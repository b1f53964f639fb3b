"""Primitives that every other package uses: time, timers, seeds, machines, bounds and errors."""
