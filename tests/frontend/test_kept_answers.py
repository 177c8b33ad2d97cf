"""Answers on disk: a graph that another process has fused is not fused again, unseen."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

import numpy as np
import pytest
from made_up import build_with

tf = pytest.importorskip("tensorflow")

import tf_autofuse  # noqa: E402
from tf_autofuse import build, flags, log, paths  # noqa: E402
from tf_autofuse.autofuse import on_disk, pipeline, told  # noqa: E402
from tf_autofuse.build import background, toolchain  # noqa: E402
from tf_autofuse.build.cache import KernelCache  # noqa: E402
from tf_autofuse.errors import BuildError  # noqa: E402
from tf_autofuse.frontend.tensorflow import kept_key, optimizer  # noqa: E402
from tf_autofuse.frontend.tensorflow.asked import Asked, Canon  # noqa: E402
from tf_autofuse.report.model import RECORDER  # noqa: E402

pytestmark = pytest.mark.e2e
v1 = tf.compat.v1
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VALUES = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
OTHER_PROCESS = """
import json, sys
sys.path[:0] = sys.argv[1:]
import tf_autofuse
from tf_autofuse.frontend.tensorflow import optimizer
import test_kept_answers as test
optimizer._fuse = None
tf_autofuse.enable("--enable_autofuse=true")
print(json.dumps([test.run(), test.plain_report()]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A cache with the kernels of `run`, so that no test waits for a compiler."""
    return str(tmp_path_factory.mktemp("built") / "cache")


@pytest.fixture
def cache(built, tmp_path, monkeypatch):
    """A cache folder of the test's own; answers lie on disk."""
    folder = str(tmp_path / "cache")
    if os.path.isdir(built):
        shutil.copytree(built, folder)
        for key in answers(folder):
            KernelCache(os.path.join(folder, "kernels")).remove(key)
    for name in ("AUTOFUSE_FLAGS", "AUTOFUSE_DFX_FLAGS", "DUMP_GE_GRAPH", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", folder)
    monkeypatch.setattr(on_disk, "_stopped", False)
    tf_autofuse.enable()
    yield folder
    tf_autofuse.disable()
    optimizer._answers.clear()
    RECORDER.clear()
    if not os.path.isdir(built) and os.path.isdir(folder):
        shutil.copytree(folder, built)


@pytest.fixture
def process(cache, monkeypatch, caplog):
    """Runs the model as a new process would: (results, report, log lines, number of passes)."""
    passes = []
    fuse = optimizer._fuse
    monkeypatch.setattr(optimizer, "_fuse", lambda *args: passes.append(1) or fuse(*args))

    def start(first_number=0):
        optimizer._answers.clear()
        RECORDER.clear()
        log.forget_warnings()
        caplog.clear()
        del passes[:]
        monkeypatch.setattr(told, "_COUNTER", itertools.count(first_number))
        tf_autofuse.runtime.tf_op.reset_kernel_stats()
        with caplog.at_level("INFO", logger="tf_autofuse.pass"):
            numbers = run()
        report = plain_report()
        lines = [r.getMessage() for r in caplog.records if r.name == "tf_autofuse.pass"]
        return numbers, report, lines, len(passes)

    return start


def run():
    """A session over two kernels and an operator left alone, which the second call looks at."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = tf.matmul(tf.exp(tf.abs(x)) * 0.5, tf.ones([4, 4]))
        z = tf.tanh(tf.matmul(tf.reduce_sum(tf.abs(y) * y, axis=1, keepdims=True), [[1.0, 2.0]]))
        with v1.Session(graph=graph) as session:
            return [value.tolist() for value in session.run([y, z], {x: VALUES})]


def plain_report():
    """The report without times."""
    report = json.loads(json.dumps(tf_autofuse.report().to_dict()))
    for kernel in report["kernels"]:
        assert kernel.pop("nanos") > 0
    return report


def answers(folder):
    """Keys of the answers in a cache."""
    entries = KernelCache(os.path.join(folder, "kernels")).entries()
    return [entry.key for entry in entries if entry.label.startswith("graph ")]


def test_another_process_sees_the_same_without_the_pass(cache, process):
    fresh, found = process(), process()
    assert fresh[3] == 2 and found[3] == 0
    assert fresh[:3] == found[:3]
    assert len(found[1]["kernels"]) == 2 and found[1]["unfused"]
    assert all(kernel["calls"] == 1 and kernel["gm_bytes"] > 0 for kernel in found[1]["kernels"])
    assert len(answers(cache)) == 2


def test_numbers_of_kernels_go_on(process):
    fresh, shifted = process(), process(first_number=8)
    assert shifted[3] == 0 and shifted[0] == fresh[0]
    number = re.compile(r"(autofused_[a-z]+_)(\d+)")
    text = number.sub(lambda m: m.group(1) + str(int(m.group(2)) + 8), json.dumps(fresh[1:3]))
    assert text == json.dumps(shifted[1:3])
    names = [kernel["name"] for kernel in shifted[1]["kernels"]]
    assert [name.split("_")[2] for name in names] == ["8", "9"]


def test_a_name_that_is_cut_is_cut_anew():
    types = ["Add"] * 60
    names = [told.fused_name("pointwise", types, number) for number in ("9", "10")]
    assert [len(name) for name in names] == [140, 140] or names[0] != names[1]
    assert names[1].startswith("autofused_pointwise_10_Add")


@pytest.mark.parametrize("what", ["cut", "other", "kernel gone", "kernel other", "bundle gone"])
def test_damage_lets_the_pass_answer_and_is_mended(cache, process, what):
    fresh = process()
    kernels = KernelCache(os.path.join(cache, "kernels"))
    key = max(answers(cache), key=lambda key: os.stat(file_of(kernels, key)).st_size)
    with open(file_of(kernels, key), "rb") as file:
        plain = json.loads(zlib.decompress(file.read()).split(b"\n")[0].decode())
    library = min(plain["libraries"])
    if what == "cut":
        os.truncate(file_of(kernels, key), 100)
    if what == "other":  # whole for the cache, but nothing that was ever written
        kernels.remove(key)
        data = zlib.compress(b'{"libraries": {}}\n').decode("latin-1")
        kernels.insert(key, "graph", "", lambda _, path: write(path, data))
    if what == "kernel gone":
        kernels.remove(os.path.basename(os.path.dirname(library)))
    if what == "kernel other":
        other = os.path.basename(os.path.dirname(library))
        data = read(library) + "\0"
        kernels.remove(other)
        kernels.insert(other, "k", "", lambda _, path: write(path, data))
    if what == "bundle gone":
        shutil.rmtree(os.path.join(cache, "bundles"))
    again, third = process(), process()
    # The other answer is whole, but where its graph names the kernel with another digest.
    assert again[3] == (2 if what == "kernel other" else 1) and third[3] == 0
    assert fresh[:3] == again[:3] == third[:3]


def file_of(kernels, key):
    return os.path.join(kernels.entry_dir(key), "kernel.so")


def read(path):
    with open(path, encoding="latin-1", newline="") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="latin-1", newline="") as file:
        file.write(text)


def test_kernels_of_an_answer_count_as_used(cache, process):
    process()
    kernels = KernelCache(os.path.join(cache, "kernels"))
    for entry in kernels.entries():
        os.utime(os.path.join(entry.path, "meta.json"), (1000, 1000))
    process()
    assert [entry.label for entry in kernels.entries() if entry.used == 1000] == []


@pytest.mark.parametrize("word", ["dump", "debug", "recover", "replace", "flag", "plug-in"])
def test_the_pass_runs_where_somebody_wants_to_see_it(
    process, monkeypatch, tmp_path, word
):
    process()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    words = {"debug": "--codegen_compile_debug=true", "recover": "--subgraph_recover=true",
             "replace": "--replace_kernel=nothing", "flag": "--remember_graphs=false"}
    if word == "dump":
        monkeypatch.setenv("DUMP_GE_GRAPH", "2")
        monkeypatch.setenv("DUMP_GRAPH_PATH", str(tmp_path))
    elif word == "plug-in":
        folder = tmp_path / "more"
        folder.mkdir()
        both = os.pathsep.join([paths.passes_dir(), str(folder)])
        monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", both)
    else:
        tf_autofuse.enable(words[word])
    for _ in range(2):  # nor is anything kept
        assert process()[3] == 2
    if word == "dump":
        assert len(list(tmp_path.glob("pid_*/ge_proto_*_PreRunBegin.txt"))) == 4


def test_a_pass_of_somebody_else_is_no_part_of_an_answer(process, monkeypatch):
    from tf_autofuse.ge import passes

    process()

    class Own(passes.FusionBasePass):
        def run(self, graph, context):
            return None

    monkeypatch.setattr(passes, "_registry", dict(passes._registry))
    passes.register_fusion_pass(
        name="Own", stage=passes.PassStage.AFTER_BUILTIN_FUSION_PASS)(Own)
    assert process()[3] == 2


def test_what_did_not_build_is_tried_again(cache, process, monkeypatch):
    def fail(kernels):
        return {key: BuildError("no room") for key, _ in kernels}

    with monkeypatch.context() as patch:
        build_with(patch, fail)
        first, second = process(), process()
    for _, report, lines, passes in (first, second):
        assert passes >= 1 and not report["kernels"]
        assert "BUILD" in {entry["code"] for entry in report["unfused"]}
        assert any("no room" in line for line in lines)
    assert process()[1]["kernels"]


def test_what_is_still_being_built_is_not_kept(cache, process):
    tf_autofuse.enable({"async_compile": True})
    shutil.rmtree(os.path.join(cache, "kernels"))
    optimizer._answers.clear()
    first = run()
    assert background.wait_for_all(120)
    assert not answers(cache)
    again, found = process(), process()
    assert again[3] == 2 and found[3] == 0
    np.testing.assert_allclose(found[0][0], first[0], rtol=1e-6)


@pytest.mark.parametrize("module, name", [
    (optimizer, "import_graph"), (pipeline, "find_clusters"), (pipeline, "replace_cluster")])
def test_errors_are_not_kept(cache, process, monkeypatch, module, name):
    def broken(*args, **options):
        raise ValueError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(module, name, broken)
        assert not process()[1]["kernels"]
    assert answers(cache) == []
    assert process()[1]["kernels"]


# What an answer depends on.


def capture():
    """What TensorFlow asks about."""
    seen = []
    from tf_autofuse.frontend.tensorflow import intercept

    intercept.install(lambda graph_def, info: seen.append((graph_def, info)))
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = v1.placeholder(tf.float32, [None, 4], name="y")
        with v1.Session(graph=graph) as session:
            session.run(tf.exp(tf.abs(x)) + y, {x: VALUES, y: VALUES})
    intercept.install(optimizer.optimize)
    return seen[0]


def facts(graph_def, info, package="p"):
    asked = Asked(graph_def, info)
    return dict(kept_key.ingredients(asked, Canon(asked), package))


def nodes_of(graph_def):
    return v1.GraphDef.FromString(graph_def)


def other_graph(monkeypatch, tmp_path, graph_def, info):
    graph = nodes_of(graph_def)
    next(node for node in graph.node if node.op.startswith("Add")).op = "Sub"
    return graph.SerializeToString(), info


def other_value(monkeypatch, tmp_path, graph_def, info):
    graph = nodes_of(graph_def)
    graph.node[0].attr["_own"].i = 1
    return graph.SerializeToString(), info


def other_fetch(monkeypatch, tmp_path, graph_def, info):
    return graph_def, dict(info, fetch=["Abs:0"])


def other_feed(monkeypatch, tmp_path, graph_def, info):
    return graph_def, dict(info, feed=list(info["feed"]) + ["Abs:0"])


def other_preserve(monkeypatch, tmp_path, graph_def, info):
    return graph_def, dict(info, preserve=["Abs"])


def other_shapes(monkeypatch, tmp_path, graph_def, info):
    return graph_def, dict(info, shapes=dict(info["shapes"], x=[(1, [-1, 4])]))


def equal_sizes(monkeypatch, tmp_path, graph_def, info):
    shapes = {name: [(kind, dims and [-2 if dim < 0 else dim for dim in dims])
                     for kind, dims in outputs] for name, outputs in info["shapes"].items()}
    return graph_def, dict(info, shapes=shapes)


def other_operator(monkeypatch, tmp_path, graph_def, info):
    from tf_autofuse.frontend.tensorflow import signatures

    registered = signatures._registered

    def changed(name):
        op_def = type(registered("Abs"))()
        op_def.CopyFrom(registered(name) or op_def)
        op_def.summary = "another"
        return op_def

    monkeypatch.setattr(signatures, "_registered", changed)
    return graph_def, info


def other_chip(monkeypatch, tmp_path, graph_def, info):
    flags.set_overrides("--enable_autofuse=true;--soc=Ascend310P")
    return graph_def, info


def skip_file(monkeypatch, tmp_path, graph_def, info):
    path = tmp_path / "skip.cfg"
    path.write_text("[ByNodeType]\nAbs\n")
    flags.set_overrides({"enable_autofuse": True, "skip_node_names_cfg": str(path)})
    return graph_def, info


def costs(monkeypatch, tmp_path, graph_def, info):
    (tmp_path / "Ascend910B.json").write_text("{}")
    monkeypatch.setenv("AUTOFUSE_PLATFORM_DIR", str(tmp_path))
    return graph_def, info


def other_extension(monkeypatch, tmp_path, graph_def, info):
    monkeypatch.setattr(build.tf_shim, "_digest", lambda files: "0")
    return graph_def, info


def other_tensorflow(monkeypatch, tmp_path, graph_def, info):
    monkeypatch.setattr(tf, "__version__", "9.9.9")
    return graph_def, info


def other_numpy(monkeypatch, tmp_path, graph_def, info):
    monkeypatch.setattr(np, "__version__", "9.9.9")
    return graph_def, info


def other_machine(monkeypatch, tmp_path, graph_def, info):
    found = toolchain.find_toolchain()
    other = toolchain.Toolchain(found.command, found.version, found.target_flags, "0")
    monkeypatch.setattr(build, "find_toolchain", lambda: other)
    return graph_def, info


def other_headers(monkeypatch, tmp_path, graph_def, info):
    (tmp_path / "a.h").write_text("// other\n")
    monkeypatch.setattr(build, "_host_folders", lambda: (str(tmp_path), str(tmp_path)))
    return graph_def, info


def other_folder(monkeypatch, tmp_path, graph_def, info):
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "elsewhere"))
    return graph_def, info


CHANGES = [
    (other_graph, {"graph", "operators"}),
    (other_value, {"graph"}),
    (other_fetch, {"names"}),
    (other_feed, {"names"}),
    (other_preserve, {"names"}),
    (other_shapes, {"shapes"}),
    (equal_sizes, {"shapes"}),
    (other_operator, {"operators"}),
    (other_chip, {"flags"}),
    (skip_file, {"flags", "skips"}),
    (costs, {"costs"}),
    (other_extension, {"extension"}),
    (other_tensorflow, {"extension"}),
    (other_numpy, {"libraries"}),
    (other_machine, {"compiler"}),
    (other_headers, {"compiler"}),
    (other_folder, {"folder"}),
]


@pytest.fixture(scope="module")
def question():
    """What TensorFlow asks about a graph with two sizes that nobody knows."""
    tf_autofuse.enable()
    found = capture()
    tf_autofuse.disable()
    return found


@pytest.mark.parametrize("change, parts", CHANGES, ids=[c.__name__ for c, _ in CHANGES])
def test_whatever_an_answer_depends_on_is_in_its_key(
    cache, monkeypatch, tmp_path, question, change, parts
):
    before = facts(*question)
    assert facts(*question) == before
    after = facts(*change(monkeypatch, tmp_path, *question))
    assert {name for name in before if before[name] != after[name]} == parts


def test_every_part_of_the_key_has_a_test(cache, question):
    tested = set().union(*[parts for _, parts in CHANGES])
    assert set(facts(*question)) - tested == {"format", "package"}
    assert facts(*question, package="q")["package"] != facts(*question)["package"]


def test_the_package_is_all_of_its_python(tmp_path, monkeypatch):
    package = tmp_path / "package"
    shutil.copytree(os.path.join(ROOT, "tf_autofuse", "cluster"), str(package / "cluster"))
    monkeypatch.setattr(paths, "_PACKAGE", str(package))
    assert kept_key._AT_START != kept_key.package_digest() == kept_key.package_digest()
    before = kept_key.package_digest()
    with open(str(package / "cluster" / "legal.py"), "a") as file:
        file.write("# other\n")
    assert kept_key.package_digest() != before


def test_code_that_changes_while_the_pass_runs_is_not_kept(cache, process, monkeypatch):
    monkeypatch.setattr(kept_key, "package_digest", lambda: "edited")
    process()
    assert answers(cache) == []


def test_the_key_leaves_out_what_differs_between_processes(cache, question):
    graph_def, info = question
    graph = nodes_of(graph_def)
    turned = type(graph)()
    turned.CopyFrom(graph)
    del turned.node[:]
    turned.node.extend(reversed(graph.node))
    symbols = {dim for outputs in info["shapes"].values() for _, dims in outputs
               for dim in dims or () if dim < -1}
    assert symbols  # else the test says nothing
    shapes = {name: [(kind, dims and [dim - 5 if dim < -1 else dim for dim in dims])
                     for kind, dims in outputs] for name, outputs in info["shapes"].items()}
    other = dict(info, id="other", shapes=shapes, preserve=info["preserve"][::-1])
    flags.set_overrides({"enable_autofuse": True, "build_seconds": 7, "build_memory_mb": 0})
    assert facts(turned.SerializeToString(), other) == facts(*question)


def test_two_processes(cache, process):
    numbers, report, _, _ = process()
    folders = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "frontend")]
    environment = dict(os.environ, PYTHONPATH=ROOT, TF_CPP_MIN_LOG_LEVEL="3")
    output = subprocess.check_output(
        [sys.executable, "-W", "ignore", "-c", OTHER_PROCESS] + folders, env=environment)
    assert json.loads(output.decode().splitlines()[-1]) == [numbers, report]
