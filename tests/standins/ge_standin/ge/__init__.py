"""A stand-in for GE's Python package, for tests: its face, its manners and its traps.

It keeps graphs of its own and shares no class with the host GraphEngine; only the schema of
ge_ir.proto is taken from there. What is not here raises ImportError, as a version without it would.
"""
