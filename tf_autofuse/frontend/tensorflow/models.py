"""Models on disk as a GraphDef and what the importer wants to know of it."""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Sequence

import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorflow.core.framework import graph_pb2

from tf_autofuse.errors import AutofuseError
from tf_autofuse.ge.serialize import read_bytes

SIGNATURE = "serving_default"
STAGE = "load model"


class Model(NamedTuple):
    """A frozen graph; `info` is the second argument of `importer.import_graph`."""

    graph_def: bytes
    info: Dict[str, Any]


def load_model(path: str, outputs: Sequence[str] = ()) -> Model:
    """A SavedModel folder, a frozen .pb, or a GraphDef as text (.pbtxt).

    `outputs` names tensors that must be kept; by default those of the signature, or what no node
    reads. AutofuseError when the file is something else or an output is not in the graph.
    """
    if os.path.isdir(path):
        graph_def, found = _saved_model(path)
    else:
        graph_def, found = _graph_def(path), []
    shapes = _shapes(graph_def, path)
    wanted = list(outputs) or found or _leaves(graph_def)
    for name in wanted:
        if name.partition(":")[0] not in shapes:
            raise AutofuseError("no node for the output " + name, stage=STAGE)
    return Model(graph_def.SerializeToString(), {"fetch": wanted, "shapes": shapes})


def _graph_def(path: str) -> Any:
    raw = read_bytes(path)
    try:
        if path.endswith(".pbtxt"):
            return text_format.Parse(raw.decode("utf-8"), graph_pb2.GraphDef())
        return graph_pb2.GraphDef.FromString(raw)
    except (DecodeError, text_format.ParseError, ValueError, RecursionError) as error:
        raise AutofuseError("not a GraphDef: {}".format(error), node=path, stage=STAGE) from None


def _saved_model(path: str) -> Any:
    """(GraphDef without variables, names of the output tensors)."""
    try:
        if tf.__version__.startswith("1."):
            return _saved_model_v1(path)
        return _saved_model_v2(path)
    except (OSError, ValueError, RuntimeError, tf.errors.OpError) as error:
        text = "no SavedModel that can be frozen: {}".format(error)
        raise AutofuseError(text, node=path, stage=STAGE) from None


def _saved_model_v2(path: str) -> Any:
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    loaded = tf.saved_model.load(path)  # owns the variables: it must outlive the freezing
    signatures = loaded.signatures
    if not signatures:
        raise ValueError("it has no signature")
    chosen = signatures[SIGNATURE if SIGNATURE in signatures else sorted(signatures)[0]]
    frozen = convert_variables_to_constants_v2(chosen)
    return frozen.graph.as_graph_def(), [tensor.name for tensor in frozen.outputs]


def _saved_model_v1(path: str) -> Any:
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        meta = v1.saved_model.load(session, ["serve"], path)
        signatures = meta.signature_def
        if not signatures:
            raise ValueError("it has no signature")
        chosen = signatures[SIGNATURE if SIGNATURE in signatures else sorted(signatures)[0]]
        names = sorted(tensor.name for tensor in chosen.outputs.values())
        nodes = [name.partition(":")[0] for name in names]
        frozen = v1.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), nodes
        )
    return frozen, names


def _shapes(graph_def: Any, path: str) -> Dict[str, Any]:
    """Shapes as TensorFlow infers them: node -> [(DataType number, dims or None)]."""
    try:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise AutofuseError(str(error), node=path, stage=STAGE) from None
    return {
        op.name: [(tensor.dtype.as_datatype_enum, _dims(tensor.shape)) for tensor in op.outputs]
        for op in graph.get_operations()
    }


def _dims(shape: Any) -> Any:
    if shape.rank is None:
        return None
    return [-1 if size is None else int(size) for size in shape.as_list()]


def _leaves(graph_def: Any) -> List[str]:
    read = {name.lstrip("^").partition(":")[0] for node in graph_def.node for name in node.input}
    return [node.name for node in graph_def.node if node.name not in read and node.op != "NoOp"]
