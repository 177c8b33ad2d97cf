"""Graph: no way to add a node, no rename, no parent."""
from enum import Enum

from tf_autofuse.ge.proto import ge as proto

from .node import Node
from .store import Store, of_model, to_model


class DumpFormat(Enum):
    """Kinds of graph dumps."""

    kOnnx = 0
    kTxt = 1
    kReadable = 2


class Graph:
    """Loading replaces the content of the graph that loads."""

    def __init__(self, name="graph"):
        if not isinstance(name, str):
            raise TypeError("Graph name must be a string")
        self._store = Store(name)

    @classmethod
    def _of(cls, store):
        graph = cls(store.name)
        graph._store = store
        return graph

    def __copy__(self):
        raise RuntimeError("Graph does not support copy")

    def __deepcopy__(self, memo):
        raise RuntimeError("Graph does not support deepcopy")

    @property
    def name(self):
        return self._store.name

    def get_direct_nodes(self):
        return [Node._of(op) for op in self._store.ops]

    def get_all_nodes(self):
        stores = [self._store] + list(self._store.subgraphs.values())
        return [Node._of(op) for store in stores for op in store.ops]

    def find_node_by_name(self, name):
        for op in self._store.ops:
            if op.name == name:
                return Node._of(op)
        raise RuntimeError("Failed to find Node name {}".format(name))

    def get_all_subgraphs(self):
        return [Graph._of(store) for store in self._store.subgraphs.values()]

    def remove_node(self, node):
        if not isinstance(node, Node):
            raise TypeError("node must be a Node")
        if node._live().graph is not self._store:
            raise RuntimeError("Failed to remove Node {}".format(node.name))
        self._store.remove(node._op)

    def add_control_edge(self, src_node, dst_node):
        dst_node._live().controls.append(src_node._live())

    def save_to_air(self, file_path):
        if not isinstance(file_path, str):
            raise TypeError("file_path must be a string")
        with open(file_path, "wb") as file:
            file.write(to_model(self._store).SerializeToString())

    def load_from_air(self, file_path):
        if not isinstance(file_path, str):
            raise TypeError("file_path must be a string")
        try:
            with open(file_path, "rb") as file:
                self._store = of_model(proto.ModelDef.FromString(file.read()))
        except Exception:
            raise RuntimeError("Failed to load graph from AIR format") from None

    def dump_to_file(self, format=DumpFormat.kReadable, suffix=""):
        if not isinstance(suffix, str):
            raise TypeError("Suffix must be a string")
        if not isinstance(format, DumpFormat):
            raise TypeError("Format must be in DumpFormat")
