"""pytest plug-in for scripts/keras_suite.py: fuse while Keras's own tests run, keep the results.

Set AUTOFUSE_SUITE_OUT to the JSON file to write; AUTOFUSE_SUITE_FUSE=1 switches fusing on.
"""
import json
import os
import sys
import types

import pytest

RESULTS = {}
SECONDS = {}


def _skip_if_backend(backend, reason):
    here = os.environ["KERAS_BACKEND"] == backend
    return pytest.mark.skipif(here, reason="{}: {}".format(backend, reason))


def pytest_configure(config):
    # Some tests import what the conftest.py of Keras's repository has; the wheel comes without.
    sys.modules["conftest"] = types.ModuleType("conftest")
    sys.modules["conftest"].skip_if_backend = _skip_if_backend
    if os.environ.get("AUTOFUSE_SUITE_FUSE") == "1":
        import tf_autofuse

        tf_autofuse.enable("--enable_autofuse=true")


def pytest_runtest_logreport(report):
    SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0) + report.duration
    if report.when == "call" or report.outcome != "passed":
        RESULTS[report.nodeid] = report.outcome


def pytest_collectreport(report):
    if report.failed:
        RESULTS[report.nodeid] = "not imported: " + str(report.longrepr).strip().splitlines()[-1]


def pytest_sessionfinish(session, exitstatus):
    import tf_autofuse

    kernels = tf_autofuse.report().kernels
    with open(os.environ["AUTOFUSE_SUITE_OUT"], "w", encoding="utf-8") as file:
        json.dump({"results": RESULTS, "seconds": SECONDS, "kernels": len(kernels),
                   "calls": sum(kernel.calls for kernel in kernels)}, file)
