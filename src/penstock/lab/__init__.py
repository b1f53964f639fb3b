"""The laboratory: reads experiment files, simulates them and judges their expectations."""
