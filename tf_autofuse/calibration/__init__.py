"""Measures the cost row of a chip: probe kernels, and what runs them."""
