"""`penstock stream`, command by command."""
