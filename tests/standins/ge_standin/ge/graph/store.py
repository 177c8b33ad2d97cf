"""What is behind the wrappers: operators, edges, and their serialised form."""
from tf_autofuse.ge.proto import ge as proto


class Op:
    """One operator. `inputs` holds (Op, port) or None, `controls` the Ops it waits for."""

    def __init__(self, name, type):
        self.name, self.type = name, type
        self.attrs, self.inputs, self.controls = {}, [], []
        self.input_descs, self.output_descs, self.subgraphs = [], [], []
        self.graph = None

    def data_consumers(self, port):
        """(Op, input port) of everything that reads an output."""
        return [
            (op, at)
            for op in self.graph.ops
            for at, edge in enumerate(op.inputs)
            if edge is not None and edge[0] is self and edge[1] == port
        ]

    def control_consumers(self):
        """Ops that wait for this one, once for every edge."""
        return [op for op in self.graph.ops for source in op.controls if source is self]

    def readers(self):
        """Ops that read any output."""
        ports = range(len(self.output_descs))
        return [op for port in ports for op, _ in self.data_consumers(port)]


class Store:
    """One graph; subgraphs of every depth hang on the root."""

    def __init__(self, name):
        self.name = name
        self.ops, self.attrs, self.subgraphs = [], {}, {}
        self.root = self

    def add(self, op):
        """Take an operator in at the end."""
        op.graph = self
        self.ops.append(op)
        return op

    def remove(self, op):
        """Drop an operator with all its edges."""
        for other in self.ops:
            other.inputs = [None if e is not None and e[0] is op else e for e in other.inputs]
            other.controls = [source for source in other.controls if source is not op]
        self.ops.remove(op)
        op.graph = None


def of_model(model):
    """The root of a ModelDef."""
    stores = [_of_graph(message) for message in model.graph]
    root = stores[0]
    for store in stores[1:]:
        store.root = root
        root.subgraphs[store.name] = store
    return root


def _of_graph(message):
    store = Store(message.name)
    store.attrs = {key: message.attr[key] for key in message.attr}
    for op_message in message.op:
        op = store.add(Op(op_message.name, op_message.type))
        op.attrs = {key: op_message.attr[key] for key in op_message.attr}
        op.input_descs = list(op_message.input_desc)
        op.output_descs = list(op_message.output_desc)
        op.subgraphs = list(op_message.subgraph_name)
    by_name = {op.name: op for op in store.ops}
    for op, op_message in zip(store.ops, message.op):
        for text in op_message.input:
            name, _, port = text.rpartition(":")
            if port == "-1":
                op.controls.append(by_name[name])
            else:
                op.inputs.append((by_name[name], int(port)) if text else None)
    return store


def to_model(root):
    """The ModelDef of a graph with its subgraphs."""
    model = proto.ModelDef()
    for store in [root] + list(root.subgraphs.values()):
        message = model.graph.add(name=store.name)
        for key, value in store.attrs.items():
            message.attr[key].CopyFrom(value)
        for number, op in enumerate(store.ops):
            _add_op(message, op, number)
    return model


def _add_op(message, op, number):
    made = message.op.add(name=op.name, type=op.type, id=number)
    made.input.extend("" if e is None else "%s:%d" % (e[0].name, e[1]) for e in op.inputs)
    made.input.extend(source.name + ":-1" for source in op.controls)
    for key, value in op.attrs.items():
        made.attr[key].CopyFrom(value)
    made.input_desc.extend(op.input_descs)
    made.output_desc.extend(op.output_descs)
    made.subgraph_name.extend(op.subgraphs)
