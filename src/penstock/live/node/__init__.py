"""An application's node: publish, subscribe, and what it is told of its broker."""
