"""Random bits and exact discrete Laplace noise."""
