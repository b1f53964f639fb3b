"""What a publisher and a relay point have in common: both are heads of segments."""
