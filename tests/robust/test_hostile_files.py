"""Dumps, models and texts that somebody made to hurt: a clear error within seconds, no more."""

import os
import resource
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nets import Net

from tf_autofuse import flags
from tf_autofuse.autofuse.pipeline import fuse_graph
from tf_autofuse.cli import main as cli
from tf_autofuse.errors import AutofuseError, DumpError, FlagError, IRError
from tf_autofuse.ge.dump import render
from tf_autofuse.ge.dumpread import read_dump
from tf_autofuse.ge.passes import PassContext
from tf_autofuse.ge.proto import ge
from tf_autofuse.ge.types import DumpFormat
from tf_autofuse.kernel.text import parse_kernel
from tf_autofuse.loop.text import parse_loop
from tf_autofuse.runtime.spec_text import SpecText

HERE = os.path.dirname(os.path.abspath(__file__))
DUMPS = os.path.join(os.path.dirname(HERE), "data", "ge_dumps")
MEGABYTES = 1 << 20
QUICK = settings(
    max_examples=150, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def bounded_memory():
    """What takes more than 1.5 GB more than there is now fails the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 1536 * MEGABYTES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def use(path):
    """Everything that is done with a dump: read, fused, printed in all forms."""
    graph = read_dump(str(path))
    for part in [graph] + graph.get_all_subgraphs():
        fuse_graph(part, PassContext("TfAutofusePass"), for_chip=True)
    for fmt in DumpFormat:
        render(graph, fmt)


def chain(model, count, dims, data_type=1):
    """A graph of Data and Exp operators."""
    graph = model.graph.add(name="g")
    for number in range(count):
        op = graph.op.add(name="n%d" % number, type="Exp" if number else "Data")
        op.output_desc.add(dtype=data_type).shape.dim.extend(dims)
        if number:
            op.input.append("n%d:0" % (number - 1))
            op.input_desc.add(dtype=data_type).shape.dim.extend(dims)
    graph.output.append("n%d:0" % (count - 1))
    return graph


def cycle(model):
    graph = chain(model, 4, [4, 4])
    graph.op[0].type = "Abs"
    graph.op[0].input.append("n3:0")
    graph.op[0].input_desc.add(dtype=1).shape.dim.extend([4, 4])


def constant_bomb(model):
    graph = chain(model, 3, [1 << 40])
    graph.op[0].type = "Const"
    value = graph.op[0].attr["value"].t
    value.desc.dtype = 1
    value.desc.shape.dim.extend([1 << 20, 1 << 20])
    value.data = b"abcd"


def giant_attributes(model):
    op = chain(model, 3, [4]).op[1]
    op.attr["axes"].list.i.extend(range(300000))
    op.attr["axes"].list.val_type = 2


def self_subgraph(model):
    chain(model, 3, [4])
    inner = model.graph.add(name="s")
    inner.op.add(name="if", type="If").subgraph_name.append("s")
    model.graph[0].op[0].subgraph_name.append("s")


# What may come of it: a clear error, or a graph that nothing breaks on.
MODELS = {
    "cycle": (cycle, None),
    "huge dims": (lambda model: chain(model, 4, [-7, 1 << 62, 1 << 62]), None),
    "high rank": (lambda model: chain(model, 4, [5] * 3000), None),
    "long chain": (lambda model: chain(model, 3000, [4]), None),
    "unknown type": (lambda model: chain(model, 3, [4], 99), "n0: "),
    "constant bomb": (constant_bomb, None),
    "giant attributes": (giant_attributes, None),
    "subgraph of itself": (self_subgraph, None),
    "no graph": (lambda model: None, "holds no graph"),
}


@pytest.mark.parametrize("kind", list(MODELS))
def test_hostile_models(kind, tmp_path):
    make, words = MODELS[kind]
    model = ge.ModelDef()
    make(model)
    path = tmp_path / "model.air"
    path.write_bytes(model.SerializeToString())
    if words is None:
        use(path)
    else:
        with pytest.raises(DumpError, match=words):
            use(path)


NODE = 'graph { node { name: "a" op_type: "ge:Abs" %s } }'
TEXTS = {
    "ge_proto_1.txt": [
        ("graph { " + "op { attr { key: 'a' value { g { " * 9999, "nested too deeply"),
        ("graph { name: 'g' op { name: 'a' output_desc {} input_desc {} input: 'a:\u00b2' } }",
         "names no output"),
        ("graph { name: 'g' op { name: 'a' input: 'a:" + "9" * 5000 + "' } }", "names no output"),
        ("x" * 100000, "x"),
    ],
    "ge_onnx_1.pbtxt": [
        ("graph { " + "node { attribute { g { " * 9999, "nested too deeply"),
        (NODE % 'output: "a:999999999"', "claims 0 inputs and 1000000000 outputs"),
        (NODE % 'attribute { name: "input_desc_nums" i: 9999999999 type: 2 }', "it claims"),
        (NODE % 'attribute { name: "output_desc_nums" s: "x" type: 3 }', "a: "),
    ],
}


@pytest.mark.parametrize(
    "name, number", [(name, number) for name in TEXTS for number in range(len(TEXTS[name]))]
)
def test_hostile_texts(name, number, tmp_path):
    text, words = TEXTS[name][number]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DumpError, match=words) as caught:
        use(path)
    assert len(str(caught.value)) < 10000


def test_what_is_no_file(tmp_path):
    with pytest.raises(DumpError, match="not a file with a graph"):
        read_dump("/dev/zero")
    huge = tmp_path / "huge.air"
    with open(str(huge), "wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(DumpError, match="larger than 2 GiB"):
        read_dump(str(huge))


def dump_bytes():
    found = []
    for where, _, names in os.walk(DUMPS):
        found += [os.path.join(where, name) for name in sorted(names) if "readable" not in name]
    return sorted(found)


TOKENS = [b"-1", b"99999999999", b"9223372036854775807", b"nan", b"\xff\xfe", b"{", b"}", b'"']
TOKENS += [b"attr {", b":-1", b":4294967296", b"\x00", b"1e999", b"../../x", b"i: 1", b"type: 99"]
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 60), st.sampled_from([b""] + TOKENS)),
    min_size=1, max_size=4,
)


@QUICK
@given(path=st.sampled_from(dump_bytes()), edits=EDITS)
def test_damaged_dumps(path, edits, tmp_path):
    with open(path, "rb") as file:
        data = file.read()
    for place, cut, token in edits:
        at = int(place * len(data))
        data = data[:at] + token + data[at + cut :]
    copy = tmp_path / os.path.basename(path)
    copy.write_bytes(data)
    try:
        use(copy)
    except DumpError as error:
        assert os.path.basename(path) in str(error)


LOOP = (
    "loop {\n  in0: float32\n  out0: float32\n  axes a b\n  %v0 = load in0 [a, b] : float32\n"
    "  %v1 = const 1.5 : float32\n  %v2 = add %v0 %v1 : float32 [a, b]\n"
    "  %v3 = reduce.sum %v2 over b : float32 [a]\n  store out0 [a] %v3\n}\n"
)
TAIL = "program 0 stream y=- x=- {\n  b0: in float32 tile slot 0\n  block a {\n    sync\n  }\n}\n"


@QUICK
@given(edits=EDITS, parser=st.sampled_from([parse_loop, parse_kernel]))
def test_damaged_kernel_texts(edits, parser):
    text = LOOP if parser is parse_loop else "kernel Ascend910B codegen 3\n" + LOOP + TAIL
    for place, cut, token in edits:
        at = int(place * len(text))
        text = text[:at] + token.decode("latin-1") + text[at + cut % 9 :]
    try:
        parser(text)
    except IRError as error:
        assert len(str(error)) < 1000


@pytest.mark.parametrize("text", [
    "loop {\n %a = b" + " " * 10**6 + "\n}", "loop {\n %a = reduce.sum : f\n}",
    "loop {\n %a = const " + "9" * 10**5 + " : f\n}",
    "loop {\n store out" + "9" * 9999 + " [] %a\n}",
])  # fmt: skip
def test_hostile_loop_texts(text):
    with pytest.raises(IRError):
        parse_loop(text)


def test_a_deep_kernel_text():
    head = "kernel a codegen 3\nloop {\n  in0: float32\n  out0: float32\n  axes a\n"
    head += "  %v0 = load in0 [a] : float32\n  store out0 [a] %v0\n}\nprogram 0 a b y=- x=- {\n"
    with pytest.raises(IRError):
        parse_kernel(head + "block a {\n" * 50000)


@QUICK
@given(st.one_of(
    st.text(max_size=60),
    st.lists(st.tuples(st.sampled_from(["--strict", "--soc", "--build_seconds", "strict", ""]),
                       st.text(max_size=12)), max_size=4)
    .map(lambda pairs: ";".join("=".join(pair) for pair in pairs)),
))  # fmt: skip
def test_flags_are_read_or_refused(text):
    try:
        flags.parse(text.replace("\0", ""), "")
    except FlagError as error:
        assert "allowed" in str(error) or "unknown key" in str(error)


@QUICK
@given(st.text(alphabet="v1;axesgroupfdin=out0123?.-/s,:*_ \u00b2+", max_size=60))
def test_shape_specs_are_read_or_refused(text):
    for spec in (text, "v1;axes=2;groups=0,1;in=0.1;out=" + text):
        try:
            SpecText.parse(spec)
        except AutofuseError as error:
            assert "cannot read" in str(error)
        else:
            assert all(c in "v1;axesgroupfdin=out0123456789?.-/s,:*" for c in spec)


HOSTILE_NAMES = ["../../escaped", "/abs/escaped", "a\nb", "$(touch escaped)", "<b>", "a" * 9000]


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_names_do_not_become_paths(name, tmp_path, monkeypatch):
    """Graph and operator names of a model: all that is written lies in the folders asked for."""
    net = Net(64, 64)
    graph = net.graph(net("Exp", net("Abs", net.data())))
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    source = tmp_path / "model.air"
    graph.save_to_air(str(source))
    model = ge.ModelDef.FromString(source.read_bytes())
    model.graph[0].name = name
    old = model.graph[0].op[1].name
    text = model.SerializeToString()
    model = ge.ModelDef.FromString(text)
    for op in model.graph[0].op:
        op.name = op.name.replace(old, old + name)
        for index, edge in enumerate(op.input):
            op.input[index] = edge.replace(old, old + name)
    source.write_bytes(model.SerializeToString())
    monkeypatch.setenv("DUMP_GE_GRAPH", "1")
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(inside / "dumps"))
    assert cli.main(["fuse", str(source), "-o", str(inside / "out")]) == 0
    shutil.rmtree(str(tmp_path / "cache"))
    assert sorted(os.listdir(str(tmp_path))) == ["inside", "model.air"]
    assert {path.name for path in inside.iterdir()} <= {"out", "dumps"}


def fused_model(tmp_path, **attributes):
    """A model that brings a fused node along."""
    net = Net(64, 64)
    out = tmp_path / "first"
    source = tmp_path / "model.air"
    net.graph(net("Exp", net("Abs", net.data()))).save_to_air(str(source))
    assert cli.main(["fuse", str(source), "-o", str(out)]) == 0
    model = ge.ModelDef.FromString((out / "graph.air").read_bytes())
    (op,) = [op for op in model.graph[0].op if op.type == "AutofusedKernel"]
    for key, value in attributes.items():
        op.attr[key].s = value.encode()
    source.write_bytes(model.SerializeToString())
    return str(source)


@pytest.mark.parametrize("attributes, words", [
    ({"kernel_key": "../../escaped"}, "fused already"),
    ({"kernel_key": "/"}, "fused already"),
    ({"spec": 'v1;axes=0;groups=;in=;out=s;"; system("x'}, "fused already"),
    ({"bundle_dir": "/nonexistent"}, "No such file"),
])  # fmt: skip
def test_a_hostile_fused_node(attributes, words, tmp_path, capsys):
    path = fused_model(tmp_path, **attributes)
    assert cli.main(["fuse", path, "-o", str(tmp_path / "second")]) == cli.BAD_INPUT
    assert words in capsys.readouterr().err


def test_old_kernels_leave_the_folder(tmp_path):
    out = tmp_path / "out"
    for types in (("Abs", "Exp"), ("Neg", "Exp", "Abs")):
        net = Net(64, 64)
        last = net.data()
        for type_ in types:
            last = net(type_, last)
        net.graph(last).save_to_air(str(tmp_path / "m.air"))
        (out / "kernels" / "mine").mkdir(parents=True, exist_ok=True)
        assert cli.main(["fuse", str(tmp_path / "m.air"), "-o", str(out)]) == 0
        assert len(os.listdir(str(out / "kernels"))) == 2  # the kernel and what is not ours
