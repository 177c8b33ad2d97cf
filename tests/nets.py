"""Hand-made GE graphs for tests of the clusterer and the pass."""
import numpy as np

from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.tensor import Tensor, TensorDesc
from tf_autofuse.ge.types import DataType, Format


class Net:
    """`net("Add", "x", "y", dims=(4,))` adds an operator and returns its name.

    Operators have one output of `dims` (those of the net unless given) and dtype float32 unless
    `dtype` says otherwise; `attrs` and `controls` go to the builder.
    """

    def __init__(self, *dims):
        self.builder = GraphBuilder("net")
        self.dims = dims
        self.count = 0

    def data(self, *dims, **kwargs):
        return self("Data", dims=dims or self.dims, **kwargs)

    def __call__(self, type_, *inputs, **kwargs):
        name = kwargs.pop("name", "n%d_%s" % (self.count, type_))
        self.count += 1
        dims = list(kwargs.pop("dims", self.dims))
        dtype = kwargs.pop("dtype", DataType.DT_FLOAT)
        outputs = [TensorDesc(dims, Format.FORMAT_ND, dtype)]
        refs = [(i, 0) if isinstance(i, str) else i for i in inputs]
        attrs = dict({"index": self.count} if type_ == "Data" else {}, **kwargs.pop("attrs", {}))
        self.builder.add_op(name, type_, inputs=refs, outputs=outputs, attrs=attrs, **kwargs)
        return name

    def graph(self, *outputs):
        """The finished graph with a NetOutput that reads `outputs`."""
        self.builder.add_op("Node_Output", "NetOutput", inputs=[(name, 0) for name in outputs])
        return self.builder.build()


class SymbolNet(Net):
    """Dims below -1 are symbols."""

    def __call__(self, type_, *inputs, **kwargs):
        dims = list(kwargs.pop("dims", self.dims))
        name = super().__call__(type_, *inputs, dims=[max(d, -1) for d in dims], **kwargs)
        self.symbols = dict(getattr(self, "symbols", {}), **{name: dims})
        return name

    def numbers(self, *values):
        array = np.asarray(values, "int32")
        return self("Const", dims=array.shape, dtype=DataType.DT_INT32,
                    attrs={"value": Tensor.from_numpy(array, DataType.DT_INT32)})

    def shape_of(self, tensor):
        return self("Shape", tensor, dims=(len(self.symbols[tensor]),), dtype=DataType.DT_INT32)

    def graph(self, *outputs):
        graph = super().graph(*outputs)
        for node in graph.get_direct_nodes():
            dims = self.symbols.get(node.name, ())
            if any(dim < -1 for dim in dims):
                node.set_output_attr("_symbolic_dims", 0, list(dims))
        return graph
