"""What must hold of casts, seen from outside."""
