"""Text that is read fast says the same as text that the library reads."""

import os

import pytest
from google.protobuf import text_format

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from tf_autofuse.ge import plaintext  # noqa: E402
from tf_autofuse.ge.proto import ge, onnx  # noqa: E402
from tf_autofuse.ge.textformat import parse_text, to_text  # noqa: E402

DUMPS = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "ge_dumps"
)
FILES = sorted(
    os.path.join(where, name)
    for where, _, names in os.walk(DUMPS)
    for name in names
    if name.startswith(("ge_proto", "ge_onnx"))
)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read(), onnx.ModelProto if path.endswith(".pbtxt") else ge.ModelDef


def fast(text, kind):
    return kind.FromString(plaintext.encode(text, kind.DESCRIPTOR))


def test_every_dump_is_read_fast():
    assert len(FILES) > 20
    for path in FILES:
        text, kind = read(path)
        assert fast(text, kind) == text_format.Parse(text, kind()), path


BLOCK = '    attr {\n      key: "a"\n      value {\n        i: 1\n      }\n    }\n'
WORDS = ["\n", " ", "  ", "{", "}", ":", '"', "\\", "\\n", "\\101", "\\x41", "\\377", "'", "#", "-"]
WORDS += ["1e5", "inf", "nan", "99999999999999999999", "-1", "007", "\u00e9", "\u2028", "\r"]
WORDS += [BLOCK, "    id: 0\n", "[1]", "          f: 1.5\n", "          b: true\n", "true"]
WORDS += ['          s: "x" "y"\n', ";", "<", ">", "0", "key: "]


@settings(max_examples=600, deadline=None, derandomize=True)
@given(path=st.sampled_from(FILES), edits=st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 30), st.sampled_from(WORDS), st.booleans()),
    min_size=1, max_size=3,
))  # fmt: skip
def test_what_is_read_fast_is_right(path, edits):
    text, kind = read(path)
    text = text[:4000]
    text = text[: text.rfind("\n  }\n") + 5] + "}\n"
    for where, cut, word, at_line in edits:
        at = int(where * len(text))
        at = text.rfind("\n", 0, at) + 1 if at_line else at
        text = text[:at] + word + text[at + cut :]
    try:
        message = fast(text, kind)
    except Exception as error:
        assert type(error).__name__ in ("NotPlain", "DecodeError")
        return
    want = text_format.Parse(text, kind())
    assert message.SerializeToString(deterministic=True) == want.SerializeToString(
        deterministic=True
    )


VALUES = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1).map(lambda v: ("i", v)),
    st.floats(width=32).map(lambda v: ("f", v)),
    st.booleans().map(lambda v: ("b", v)),
    st.binary(max_size=20).map(lambda v: ("s", v)),
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.text(max_size=9))
def test_values_of_all_kinds(values, name):
    model = ge.ModelDef()
    op = model.graph.add(name=name).op.add(name=name, id=-5)
    for key, (field, value) in values.items():
        setattr(op.attr[key], field, value)
    text = to_text(model)
    want = text_format.Parse(text, ge.ModelDef()).SerializeToString(deterministic=True)
    assert parse_text(text, ge.ModelDef()).SerializeToString(deterministic=True) == want
    if all(key.isascii() and key.isprintable() and "\\" not in text for key in values):
        assert fast(text, ge.ModelDef).SerializeToString(deterministic=True) == want


@pytest.mark.parametrize("text", [
    'graph {\n  name: "a"\n  name: "b"\n}\n',
    'graph {\n  name: 5\n}\n',
    "graph {\n" * 200,
    "graph {\n  op {\n    id: 9223372036854775808\n  }\n}\n",
    "graph {\n  op {\n    id: 010\n  }\n}\n",
    'graph {\n  name: "\\377"\n}\n',
    "graph {\n  op {\n" + BLOCK.replace("i: 1\n", "i: 1\n        f: 2\n") + "  }\n}\n",
    "graph {\n  op {\n" + BLOCK * 2 + "  }\n}\n",
    "version: 1",
])  # fmt: skip
def test_what_is_left_to_the_library(text):
    with pytest.raises(plaintext.NotPlain):
        plaintext.encode(text, ge.ModelDef.DESCRIPTOR)


def test_ten_thousand_operators_cost_as_many_blocks_as_they_differ(monkeypatch):
    """What a block costs is paid once: the library never sees the text."""
    model = ge.ModelDef()
    graph = model.graph.add(name="g")
    for number in range(10000):
        op = graph.op.add(name="n%d" % number, type="Exp")
        for key in ("one", "two", "three"):
            op.attr[key].list.i.extend([64, 64])
    text = to_text(model)
    calls = []
    message = plaintext._Encoder.message
    monkeypatch.setattr(plaintext._Encoder, "message",
                        lambda *args: calls.append(1) or message(*args))  # fmt: skip
    monkeypatch.setattr(text_format, "Parse", None)
    assert parse_text(text, ge.ModelDef()) == model
    assert len(calls) < 10020
