"""pytest plug-in for scripts/keras_suite.py: fuse while Keras's own tests run, keep the results.

Set AUTOFUSE_SUITE_OUT to the JSON file to write; AUTOFUSE_SUITE_FUSE=1 switches fusing on.
"""
import json
import os

RESULTS = {}


def pytest_configure(config):
    if os.environ.get("AUTOFUSE_SUITE_FUSE") == "1":
        import tf_autofuse

        tf_autofuse.enable("--enable_autofuse=true")


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        RESULTS[report.nodeid] = report.outcome


def pytest_sessionfinish(session, exitstatus):
    import tf_autofuse

    kernels = tf_autofuse.report().kernels
    with open(os.environ["AUTOFUSE_SUITE_OUT"], "w", encoding="utf-8") as file:
        json.dump({"results": RESULTS, "kernels": len(kernels),
                   "calls": sum(kernel.calls for kernel in kernels)}, file)
