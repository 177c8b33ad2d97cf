"""Runs the pass plug-in as GE would: another process, environment variables, a stand-in `ge`."""
import os
import subprocess
import sys

from tf_autofuse.ge.dumpread import read_dump

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STAND_IN = os.path.join(ROOT, "tests", "standins", "ge_standin")
ON = "--enable_autofuse=true"


class Compiled:
    """What came out: exit code, everything printed, and the graph (None when there is none)."""

    def __init__(self, done, path):
        self.code, self.text = done.returncode, done.stdout.decode()
        self.graph = read_dump(path) if os.path.exists(path) else None

    def nodes(self, type_=None, graph=None):
        """Direct nodes of the root, or of `graph`, by name; of one type."""
        found = (graph or self.graph).get_direct_nodes()
        return {node.name: node for node in found if type_ in (None, node.type)}

    def fused(self, graph=None):
        """The only fused node of a graph."""
        (node,) = self.nodes("AutofusedKernel", graph).values()
        return node


def compile_air(air, tmp_path, flags=ON, passes=None, options=(), **env):
    """Compile the graph of an .air file."""
    out = str(tmp_path / "out.air")
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join((STAND_IN, ROOT)),
        "ASCEND_GE_PY_PASS_PATH": passes or os.path.join(ROOT, "passes"),
        "AUTOFUSE_FLAGS": flags,
    }
    variables.update(env)
    command = [sys.executable, "-m", "ge._internal.compile", str(air), out] + list(options)
    done = subprocess.run(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=str(tmp_path)
    )
    return Compiled(done, out)


def compile_graph(graph, tmp_path, *args, **kwargs):
    """Compile a graph that was made on the host."""
    air = tmp_path / "in.air"
    graph.save_to_air(str(air))
    return compile_air(air, tmp_path, *args, **kwargs)
