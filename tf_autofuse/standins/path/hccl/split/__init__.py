"""Gradient packing."""
