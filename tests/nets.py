"""Hand-made GE graphs for tests of the clusterer and the pass."""
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.tensor import TensorDesc
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
