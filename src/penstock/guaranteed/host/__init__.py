"""The host: reads pubends for its subscriptions, hands messages out and keeps their cursors."""
