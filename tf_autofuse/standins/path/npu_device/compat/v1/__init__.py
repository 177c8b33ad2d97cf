"""Names of the TF1 adapter for TF2 scripts."""
