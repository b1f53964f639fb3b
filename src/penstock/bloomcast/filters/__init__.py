"""In-packet Bloom filters: the tags of links, and sets of them."""
