"""How a broker passes messages on: to which brokers, over which links, and once."""
