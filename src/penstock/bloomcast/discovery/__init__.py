"""How nodes learn from frames who is there, and how control frames find their way."""
