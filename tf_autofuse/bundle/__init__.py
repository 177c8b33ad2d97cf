"""Kernel bundles: what a host with an NPU needs to build and launch a kernel, in one folder."""

from tf_autofuse.bundle.folder import complete, copy_bundle, problems, remove_others

__all__ = ["complete", "copy_bundle", "problems", "remove_others"]
