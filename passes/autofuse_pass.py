"""GE fusion pass plug-in: point ASCEND_GE_PY_PASS_PATH at this folder.

GE loads every file here when it initialises and stops when one of them raises, so this module
imports nothing that may be missing: without GE or without the package it registers nothing.
"""
import logging

try:
    from ge.passes import FusionBasePass, PassStage, register_fusion_pass
except ImportError:
    register_fusion_pass = None

LOG = logging.getLogger("tf_autofuse.pass")


def _fuse(graph, context):
    """Run the pass when it is switched on. Only --strict=true lets an error out."""
    try:
        from tf_autofuse import flags
    except ImportError as error:
        LOG.warning("tf_autofuse cannot be imported, the graph stays as it is: %s", error)
        return
    current = flags.current()
    if not current.enable_autofuse:
        return
    try:
        from tf_autofuse.autofuse.pipeline import fuse_graph

        fuse_graph(graph, context)
    except Exception as error:
        if current.strict:
            raise
        LOG.warning("fusing stopped, the rest of the graph stays as it is: %s", error)


if register_fusion_pass is not None:

    @register_fusion_pass(name="TfAutofusePass", stage=PassStage.AFTER_BUILTIN_FUSION_PASS)
    class TfAutofusePass(FusionBasePass):
        """Clusters elementwise, broadcast and reduce operators into AutofusedKernel nodes."""

        def run(self, graph, context):
            """None is GE's success."""
            _fuse(graph, context)
