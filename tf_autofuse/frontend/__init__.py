"""Frontends: what turns a framework's graph into a ge.Graph and back."""
