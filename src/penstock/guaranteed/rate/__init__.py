"""How fast a pubend takes messages while hosts fall behind or catch up."""
