"""The NACK window: how far ahead of its doubt horizon a reader asks for repairs."""
