"""Figures by family: each looks at the facts and has what can be drawn of them, or nothing."""
