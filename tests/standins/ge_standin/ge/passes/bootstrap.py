"""Loading the plug-ins when GE initialises."""
from ge._internal.plugin_loader import load_from_environment


def load_pass_plugins():
    load_from_environment("ASCEND_GE_PY_PASS_PATH", "_ge_py_pass_")
