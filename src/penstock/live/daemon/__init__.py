"""A broker as a running process."""
