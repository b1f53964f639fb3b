"""The ground everything stands on: time, timers, seeds, machines, errors."""
