"""What a broker knows of the network: links, paths, and what other brokers subscribe to."""
