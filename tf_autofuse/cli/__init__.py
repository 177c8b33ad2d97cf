"""The command line ``tf-autofuse``: one module per command."""
