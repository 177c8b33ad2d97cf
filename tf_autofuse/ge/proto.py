"""The schemas of ge_ir.proto (`ge.proto`) and GE's ONNX dump (`ge.onnx`), built at run time.

No generated code, so one file serves protobuf 3.19 to current. The messages live in a pool of
their own and never meet those of an installed GE. Attribute groups (symbol expressions of the
autofuser) are not described; they survive as unknown fields.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Dict, List

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tf_autofuse.ge.types import PROTO_NAMES

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
    "int32": _FIELD.TYPE_INT32,
    "uint32": _FIELD.TYPE_UINT32,
    "int64": _FIELD.TYPE_INT64,
    "float": _FIELD.TYPE_FLOAT,
    "bool": _FIELD.TYPE_BOOL,
}

_LIST_TYPES = "NONE STRING INT FLOAT BOOL BYTES TENSOR_DESC TENSOR GRAPH NAMED_ATTRS DATA_TYPE"
_GE_ENUMS = {
    "DataType": PROTO_NAMES,
    "AttrDef.ListValue.ListValueType": tuple("VT_LIST_" + name for name in _LIST_TYPES.split()),
}

# message -> fields "name:number:type", `*` before the type = repeated, `?` = in the oneof `value`,
# `{}` = map from string to the type.
_GE_MESSAGES = {
    "AttrDef": "s:2:?bytes i:3:?int64 f:4:?float b:5:?bool bt:7:?bytes list:1:?AttrDef.ListValue"
    " func:10:?NamedAttrs td:11:?TensorDescriptor t:12:?TensorDef g:13:?GraphDef"
    " list_list_int:14:?AttrDef.ListListInt dt:15:?int64 list_list_float:16:?AttrDef.ListListFloat"
    " expression:17:?bytes",
    "AttrDef.ListValue": "s:2:*bytes i:3:*int64 f:4:*float b:5:*bool bt:7:*bytes"
    " td:8:*TensorDescriptor t:9:*TensorDef g:10:*GraphDef na:11:*NamedAttrs dt:12:*int64"
    " val_type:20:AttrDef.ListValue.ListValueType",
    "AttrDef.ListListInt": "list_list_i:1:*AttrDef.ListListInt.ListInt",
    "AttrDef.ListListInt.ListInt": "list_i:1:*int64",
    "AttrDef.ListListFloat": "list_list_f:1:*AttrDef.ListListFloat.ListFloat",
    "AttrDef.ListListFloat.ListFloat": "list_f:1:*float",
    "NamedAttrs": "name:1:string attr:2:{}AttrDef",
    "ShapeDef": "dim:1:*int64",
    "TensorDescriptor": "name:1:string dtype:2:DataType shape:3:ShapeDef layout:4:string"
    " attr:5:{}AttrDef has_out_attr:9:bool size:10:int64 weight_size:11:int64 reuse_input:12:bool"
    " output_tensor:13:bool device_type:14:string input_tensor:15:bool real_dim_cnt:16:int64"
    " reuse_input_index:17:int64 data_offset:18:int64 cmps_size:19:int64 cmps_tab:20:string"
    " cmps_tab_offset:21:int64",
    "TensorDef": "desc:1:TensorDescriptor data:2:bytes",
    "OpDef": "name:1:string type:2:string input:5:*string attr:10:{}AttrDef has_out_attr:20:bool"
    " id:21:int64 stream_id:22:int64 input_name:23:*string src_name:24:*string"
    " src_index:25:*int64 dst_name:26:*string dst_index:27:*int64 input_i:28:*int64"
    " output_i:29:*int64 workspace:30:*int64 workspace_bytes:31:*int64 is_input_const:32:*bool"
    " input_desc:33:*TensorDescriptor output_desc:34:*TensorDescriptor subgraph_name:35:*string",
    "GraphDef": "name:1:string input:4:*string output:5:*string op:6:*OpDef attr:11:{}AttrDef",
    "ModelDef": "name:1:string version:2:uint32 custom_version:3:string graph:7:*GraphDef"
    " attr:11:{}AttrDef",
}

_ONNX_ENUMS = {
    "AttributeProto.AttributeType": (
        "UNDEFINED FLOAT INT STRING TENSOR GRAPH FLOATS INTS STRINGS TENSORS GRAPHS".split()
    )
}
_ONNX_MESSAGES = {
    "AttributeProto": "name:1:string f:2:float i:3:int64 s:4:bytes g:6:GraphProto floats:7:*float"
    " ints:8:*int64 strings:9:*bytes type:20:AttributeProto.AttributeType",
    "Dimension": "dim_value:1:int64 dim_param:2:string",
    "TensorShapeProto": "dim:1:*Dimension",
    "TensorType": "elem_type:1:int32 shape:2:TensorShapeProto",
    "TypeProto": "tensor_type:1:TensorType",
    "ValueInfoProto": "name:1:string type:2:TypeProto",
    "NodeProto": "input:1:*string output:2:*string name:3:string op_type:4:string"
    " attribute:5:*AttributeProto doc_string:6:string domain:7:string",
    "GraphProto": "node:1:*NodeProto name:2:string doc_string:10:string input:11:*ValueInfoProto"
    " output:12:*ValueInfoProto value_info:13:*ValueInfoProto",
    "ModelProto": "ir_version:1:int64 producer_name:2:string producer_version:3:string"
    " domain:4:string model_version:5:int64 doc_string:6:string graph:7:GraphProto",
}


class _FileBuilder:
    """Collects one proto3 file from the tables above."""

    def __init__(self, package: str, enums: Dict, messages: Dict[str, str]) -> None:
        self.enums = enums
        self.file = descriptor_pb2.FileDescriptorProto(
            name=package.replace(".", "/") + ".proto", package=package, syntax="proto3"
        )
        self.messages: Dict[str, descriptor_pb2.DescriptorProto] = {}
        for path in sorted(messages, key=lambda name: name.count(".")):
            parent, _, name = path.rpartition(".")
            into = self.messages[parent].nested_type if parent else self.file.message_type
            self.messages[path] = into.add(name=name)
        for path, names in enums.items():
            parent, _, name = path.rpartition(".")
            into = self.messages[parent].enum_type if parent else self.file.enum_type
            values = into.add(name=name).value
            for number, value in enumerate(names):
                values.add(name=value, number=number)
        for path, fields in messages.items():
            for field in fields.split():
                self._add_field(self.messages[path], path, *field.split(":"))

    def _add_field(self, message, path: str, name: str, number: str, kind: str) -> None:
        field = message.field.add(name=name, number=int(number), label=_FIELD.LABEL_OPTIONAL)
        if kind.startswith("{}"):
            self._add_map_entry(message, path, field, kind[2:])
            return
        if kind.startswith("*"):
            field.label = _FIELD.LABEL_REPEATED
        elif kind.startswith("?"):
            if not message.oneof_decl:
                message.oneof_decl.add(name="value")
            field.oneof_index = 0
        self._set_type(field, kind.lstrip("*?"))

    def _add_map_entry(self, message, path: str, field, value_kind: str) -> None:
        entry = message.nested_type.add(name=field.name.capitalize() + "Entry")
        entry.options.map_entry = True
        self._set_type(entry.field.add(name="key", number=1, label=_FIELD.LABEL_OPTIONAL), "string")
        value = entry.field.add(name="value", number=2, label=_FIELD.LABEL_OPTIONAL)
        self._set_type(value, value_kind)
        field.label = _FIELD.LABEL_REPEATED
        field.type = _FIELD.TYPE_MESSAGE
        field.type_name = ".{}.{}.{}".format(self.file.package, path, entry.name)

    def _set_type(self, field, kind: str) -> None:
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
            return
        field.type = _FIELD.TYPE_ENUM if kind in self.enums else _FIELD.TYPE_MESSAGE
        field.type_name = ".{}.{}".format(self.file.package, kind)


def _namespace(package: str, enums: Dict, messages: Dict[str, str]) -> SimpleNamespace:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_FileBuilder(package, enums, messages).file.SerializeToString())
    if hasattr(message_factory, "GetMessageClass"):  # protobuf 4.22 and later
        class_of = message_factory.GetMessageClass
    else:
        class_of = message_factory.MessageFactory(pool).GetPrototype
    top: List[str] = [name for name in messages if "." not in name]
    descriptors = {name: pool.FindMessageTypeByName(package + "." + name) for name in top}
    return SimpleNamespace(**{name: class_of(found) for name, found in descriptors.items()})


#: Message classes of ge_ir.proto: ModelDef, GraphDef, OpDef, AttrDef, TensorDescriptor, ...
ge = _namespace("ge.proto", _GE_ENUMS, _GE_MESSAGES)

#: Message classes of the ONNX dump: ModelProto, GraphProto, NodeProto, AttributeProto, ...
onnx = _namespace("ge.onnx", _ONNX_ENUMS, _ONNX_MESSAGES)

LIST_KINDS = _GE_ENUMS["AttrDef.ListValue.ListValueType"]
