"""A broker's sessions with its neighbours and its clients."""
