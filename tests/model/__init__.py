"""A reference model of the queue, and the machine that compares the product with it."""
