"""Profiling of a part of a script."""
