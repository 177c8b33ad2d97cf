"""GE fusion pass plug-in: point ASCEND_GE_PY_PASS_PATH at this folder.

GE loads every file here when it initialises and stops when one of them raises, so whatever is
missing or fails while this module is imported leaves the pass unregistered, with a warning.
"""
import json
import logging

LOG = logging.getLogger("tf_autofuse.pass")
PASS_NAME = "TfAutofusePass"
DEFAULT_STAGE = "AFTER_BUILTIN_FUSION_PASS"
SWITCH_FILE = "ge.fusionSwitchFile"


def _fuse(graph, context):
    """Run the pass when it is switched on. Only --strict=true lets an error out."""
    strict = False
    try:
        from tf_autofuse import flags

        current = flags.current()
        strict = current.strict
        if not current.enable_autofuse or _switched_off(context):
            return
        from tf_autofuse.autofuse.pipeline import fuse_graph

        fuse_graph(graph, context)
    except Exception as error:
        if strict:
            raise
        _tell(context, "fusing stopped, the rest of the graph stays as it is: %s" % error)


def _tell(context, text):
    LOG.warning(text)
    try:
        context.set_error_message(text)
    except Exception:  # a context that cannot be told is no reason to fail a model
        LOG.debug("the pass context takes no message", exc_info=True)


def _switched_off(context):
    """Whether GE's fusion switch file names the pass, or all graph fusion, as off.

    GE looks itself before it calls a pass; this serves hosts that only hand the option on.
    """
    try:
        path = context.get_option_value(SWITCH_FILE)
    except Exception:
        return False
    if not path:
        return False
    with open(path) as file:
        switches = json.load(file).get("Switch", {}).get("GraphFusion", {})
    return switches.get(PASS_NAME, switches.get("ALL", "on")) == "off"


def _stage(stages):
    """The stage that the flag asks for; the default when the flags cannot be read."""
    name = DEFAULT_STAGE
    try:
        from tf_autofuse import flags

        name = flags.current().pass_stage
    except Exception as error:  # told again, to the graph's context, when the pass runs
        LOG.warning("stage %s is taken: %s", name, error)
    return getattr(stages, name)


def _register():
    from ge.passes import FusionBasePass, PassStage, register_fusion_pass

    @register_fusion_pass(name=PASS_NAME, stage=_stage(PassStage))
    class TfAutofusePass(FusionBasePass):
        """Clusters elementwise, broadcast and reduce operators into AutofusedKernel nodes."""

        def run(self, graph, context):
            """None is GE's success."""
            _fuse(graph, context)


try:
    _register()
except ImportError:
    LOG.debug("no GE package: the pass is not registered", exc_info=True)
except Exception as error:  # a GE that is not whole, or the pass is registered already
    LOG.warning("the pass is not registered: %s", error)
