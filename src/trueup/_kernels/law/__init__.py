"""The law of a weighted sum of noises: coefficients, tails, half-widths."""
