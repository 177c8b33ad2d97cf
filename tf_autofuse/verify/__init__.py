"""Checking that graphs before and after fusing belong together."""

from tf_autofuse.verify.dumps import verify_dumps
from tf_autofuse.verify.result import FusedNode, VerifyResult, render_json, render_text

__all__ = ["FusedNode", "VerifyResult", "render_json", "render_text", "verify_dumps"]
