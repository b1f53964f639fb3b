"""An application's node: publishing, subscribing, and the state of its broker."""
