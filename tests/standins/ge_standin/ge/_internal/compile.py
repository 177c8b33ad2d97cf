"""One graph compile as far as fusion passes go: `python -m ge._internal.compile IN.air OUT.air`.

Options follow as KEY=VALUE. Exit code 1 and a message when plug-ins do not load (then GE would not
initialise) or when a pass returns anything but success (then the compile would fail).
"""
import json
import sys

from ge.graph import Graph
from ge.passes import bootstrap
from ge.passes.base import PassStage
from ge.passes.context import PassContext
from ge.passes.registry import registered

SWITCH_FILE = "ge.fusionSwitchFile"


def main(argv):
    try:
        bootstrap.load_pass_plugins()
    except Exception as error:
        print("GEInitialize failed: {!r}".format(error))
        return 1
    graph = Graph("main")
    graph.load_from_air(argv[0])
    options = dict(word.split("=", 1) for word in argv[2:])
    for stage in PassStage:
        for descriptor in sorted(registered(stage), key=lambda item: item.name):
            if _enabled(descriptor.name, options) and not _run(descriptor, graph, options):
                return 1
    graph.save_to_air(argv[1])
    return 0


def _enabled(name, options):
    if SWITCH_FILE not in options:
        return True
    with open(options[SWITCH_FILE]) as file:
        switches = json.load(file)["Switch"]["GraphFusion"]
    return switches.get(name, switches.get("ALL", "on")) != "off"


def _run(descriptor, graph, options):
    instance = descriptor.cls()  # one for every compile and stage, without arguments
    for store in [graph._store] + list(graph._store.subgraphs.values()):
        context = PassContext(descriptor.name, options)
        try:
            status = _status(instance.run(Graph._of(store), context))
        except Exception as error:
            context.set_error_message(repr(error))
            status = "exception"
        print("pass {} on {}: {}; {}".format(
            descriptor.name, store.name, status, context.get_error_message()))
        context._invalidate()
        if status != "success":
            return False
    return True


def _status(result):
    if result is None or result is True:
        return "success"
    if type(result) is int and result in (0, 1343242304):
        return "success"
    return "failed with {!r}".format(result)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
