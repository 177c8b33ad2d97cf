"""Patterns that users write, as operator lists over a matrix of ROWS x COLS (and a third axis).

Each pattern becomes one kernel. Sizes are symbols, so one kernel serves every shape, unless they
are given when it is lowered.
"""
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse.loop.lower import LoweredKernel, lower
from tf_autofuse.loop.source import Operator, TensorInfo, TensorRef

ROWS, COLS, DEPTH = -11, -12, -13
MATRIX, ROW, COLUMN = (ROWS, COLS), (COLS,), (ROWS, 1)


class Net:
    """Builds an operator list: `net("Mul", x, y)` returns the tensor of a new operator.

    `sizes` says what symbols among the dims of inputs stand for, where that is known.
    """

    def __init__(self, dtype: str, sizes: Optional[Mapping[int, int]] = None) -> None:
        self.dtype = dtype
        self.sizes = sizes or {}
        self.operators: List[Operator] = []
        self.infos: Dict[TensorRef, TensorInfo] = {}

    def input(self, *dims: int, dtype: str = "") -> TensorRef:
        ref = ("in%d" % len(self.infos), 0)
        sizes = tuple(self.sizes.get(dim, dim) for dim in dims)
        self.infos[ref] = TensorInfo(dtype or self.dtype, sizes)
        return ref

    def const(self, value: float) -> TensorRef:
        ref = ("const%d" % len(self.infos), 0)
        self.infos[ref] = TensorInfo(self.dtype, (), const=value)
        return ref

    def __call__(self, type_: str, *inputs, **attrs) -> TensorRef:
        """`axes` and `params`, the constants of operators that move elements, are no attributes."""
        refs = tuple(i if isinstance(i, tuple) else self.const(i) for i in inputs)
        axes, params = attrs.pop("axes", None), attrs.pop("params", {})
        name = "%s_%d" % (type_, len(self.operators))
        self.operators.append(Operator(name, type_, refs, attrs, axes, None, params))
        return (name, 0)

    def cast(self, x: TensorRef, dtype: str) -> TensorRef:
        return self("Cast", x, dst_dtype=dtype)

    def reduce(self, kind: str, x: TensorRef, *axes: int, keep: bool = True) -> TensorRef:
        return self("Reduce" + kind, x, axes=axes or (-1,), keep_dims=keep)

    def lowered(self, *outputs: TensorRef) -> LoweredKernel:
        return lower(self.operators, outputs, self.infos)


def _softmax(net, x):
    e = net("Exp", net("Sub", x, net.reduce("Max", x)))
    return net("RealDiv", e, net.reduce("Sum", e))


def _log_softmax(net, x):
    shifted = net("Sub", x, net.reduce("Max", x))
    return net("Sub", shifted, net("Log", net.reduce("Sum", net("Exp", shifted))))


def _norm(net, x, *axes):
    mean = net.reduce("Mean", x, *axes)
    variance = net.reduce("Mean", net("SquaredDifference", x, mean), *axes)
    inverse = net("Rsqrt", net("Add", variance, 1e-3))
    return net("Mul", net("Sub", x, mean), inverse), mean, variance


def _sigmoid_loss(net, x, labels):
    positive = net("Relu", x)
    rest = net("Log", net("Add", net("Exp", net("Neg", net("Abs", x))), 1.0))
    return net("Add", net("Sub", positive, net("Mul", x, labels)), rest)


def softmax(net):
    return [_softmax(net, net.input(*MATRIX))]


def log_softmax(net):
    return [_log_softmax(net, net.input(*MATRIX))]


def layer_norm(net):
    scaled = net("Mul", _norm(net, net.input(*MATRIX))[0], net.input(*ROW))
    return [net("Add", scaled, net.input(*ROW))]


def rms_norm(net):
    x = net.input(*MATRIX)
    inverse = net("Rsqrt", net("Add", net.reduce("Mean", net("Square", x)), 1e-6))
    return [net("Mul", net("Mul", x, inverse), net.input(*ROW))]


def batch_norm_training(net):
    return list(_norm(net, net.input(*MATRIX), 0))


def batch_norm_inference_relu(net):
    x, scale, shift = net.input(*MATRIX), net.input(*ROW), net.input(*ROW)
    return [net("Relu", net("Add", net("Mul", x, scale), shift))]


def instance_norm(net):
    return [_norm(net, net.input(ROWS, COLS, DEPTH), 1)[0]]


def l2_normalize(net):
    x = net.input(*MATRIX)
    return [net("Mul", x, net("Rsqrt", net("Maximum", net.reduce("Sum", net("Square", x)), 1e-7)))]


def sigmoid_cross_entropy_mean(net):
    loss = _sigmoid_loss(net, net.input(*MATRIX), net.input(*MATRIX))
    return [net.reduce("Mean", loss, 0, 1, keep=False)]


def softmax_cross_entropy(net):
    logits, labels = net.input(*MATRIX), net.input(*MATRIX)
    return [net("Neg", net.reduce("Sum", net("Mul", labels, _log_softmax(net, logits))))]


def focal_loss(net):
    x, labels = net.input(*MATRIX), net.input(*MATRIX)
    p = net("Sigmoid", x)
    weight = net("Square", net("Abs", net("Sub", labels, p)))
    return [net.reduce("Mean", net("Mul", weight, _sigmoid_loss(net, x, labels)), 0, 1)]


def huber_loss(net):
    error = net("Abs", net("Sub", net.input(*MATRIX), net.input(*MATRIX)))
    small = net("Mul", net("Square", error), 0.5)
    large = net("Sub", error, 0.5)
    chosen = net("SelectV2", net("LessEqual", error, 1.0), small, large)
    return [net.reduce("Mean", chosen, keep=False)]


def gelu_tanh_bias(net):
    x = net("Add", net.input(*MATRIX), net.input(*ROW))
    cubed = net("Mul", net("Mul", x, net("Square", x)), 0.044715)
    inner = net("Mul", net("Add", x, cubed), 0.7978845)
    return [net("Mul", net("Mul", x, 0.5), net("Add", net("Tanh", inner), 1.0))]


def gelu_erf_bias(net):
    x = net("Add", net.input(*MATRIX), net.input(*ROW))
    inner = net("Mul", x, 0.70710678)
    return [net("Mul", net("Mul", x, 0.5), net("Add", net("Erf", inner), 1.0))]


def swiglu(net):
    x, gate = net.input(*MATRIX), net.input(*MATRIX)
    return [net("Mul", net("Mul", x, net("Sigmoid", x)), gate)]


def dropout_residual_norm(net):
    x, mask, residual = (net.input(*MATRIX) for _ in range(3))
    kept = net("Mul", net("Mul", x, mask), 1.25)
    return [_norm(net, net("Add", residual, kept))[0]]


def adam(net):
    variable, m, v, gradient = (net.input(*MATRIX) for _ in range(4))
    new_m = net("Add", m, net("Mul", net("Sub", gradient, m), 0.1))
    new_v = net("Add", v, net("Mul", net("Sub", net("Square", gradient), v), 0.001))
    step = net("RealDiv", net("Mul", new_m, 0.01), net("Add", net("Sqrt", new_v), 1e-7))
    return [net("Sub", variable, step), new_m, new_v]


def momentum(net):
    variable, speed, gradient = (net.input(*MATRIX) for _ in range(3))
    new = net("Add", net("Mul", speed, 0.9), gradient)
    return [net("Sub", variable, net("Mul", new, 0.01)), new]


def adagrad(net):
    variable, total, gradient = (net.input(*MATRIX) for _ in range(3))
    new = net("Add", total, net("Square", gradient))
    return [net("Sub", variable, net("Mul", net("Mul", gradient, 0.01), net("Rsqrt", new))), new]


def moments(net):
    x = net.input(*MATRIX)
    mean = net.reduce("Mean", x)
    centred = net("Sub", x, mean)
    variance = net.reduce("Mean", net("Square", centred))
    third = net.reduce("Mean", net("Mul", net("Square", centred), centred))
    skew = net("RealDiv", third, net("Mul", variance, net("Sqrt", net("Add", variance, 1e-6))))
    return [mean, variance, skew]


def masked_softmax(net):
    x, mask = net.input(*MATRIX), net.input(*MATRIX)
    return [_softmax(net, net("Add", x, net("Mul", net("Sub", mask, 1.0), 10000.0)))]


def log_sum_exp(net):
    x = net.input(*MATRIX)
    top = net.reduce("Max", x)
    return [net("Add", top, net("Log", net.reduce("Sum", net("Exp", net("Sub", x, top)))))]


def cosine_similarity(net):
    x, y = net.input(*MATRIX), net.input(*MATRIX)
    dot = net.reduce("Sum", net("Mul", x, y))
    norms = net("Mul", net.reduce("Sum", net("Square", x)), net.reduce("Sum", net("Square", y)))
    return [net("Mul", dot, net("Rsqrt", net("Add", norms, 1e-6)))]


def layer_norm_backward(net):
    dy, normed, inverse = net.input(*MATRIX), net.input(*MATRIX), net.input(*COLUMN)
    mean_dy = net.reduce("Mean", dy)
    mean_product = net.reduce("Mean", net("Mul", dy, normed))
    rest = net("Sub", net("Sub", dy, mean_dy), net("Mul", normed, mean_product))
    return [net("Mul", rest, inverse)]


def softmax_backward(net):
    dy, y = net.input(*MATRIX), net.input(*MATRIX)
    return [net("Mul", y, net("Sub", dy, net.reduce("Sum", net("Mul", dy, y))))]


def sigmoid_cross_entropy_backward(net):
    x, labels = net.input(*MATRIX), net.input(*MATRIX)
    return [net("Mul", net("Sub", net("Sigmoid", x), labels), 0.125)]


def abs_reduce_sum_columns(net):
    return [net.reduce("Sum", net("Abs", net.input(*MATRIX)), 0, keep=False)]


def mean_square_error(net):
    difference = net("SquaredDifference", net.input(*MATRIX), net.input(*MATRIX))
    return [net.reduce("Mean", difference, 0, 1, keep=False)]


def transposed_sum(net):
    return [net("Relu", net("Add", net("Transpose", net.input(*MATRIX), params={1: (1, 0)}),
                            net.input(COLS, ROWS)))]


def joined_columns(net):
    # Only parts of known size are joined.
    x, y = net("Relu", net.input(ROWS, 1001)), net("Neg", net.input(ROWS, 9))
    return [net("ConcatV2", x, y, params={2: (1,)})]


def every_second_row_backwards(net):
    x = net("ReverseV2", net.input(*MATRIX), params={1: (1,)})
    return [net("Abs", net("StridedSlice", x, params={1: (0,), 2: (0,), 3: (2,)}, end_mask=1))]


def padded_scaled(net):
    x = net("Mul", net.input(*MATRIX), net.input(*ROW))
    return [net("Pad", x, params={1: (1, 2, 3, 0)})]


def row_and_column_sums(net):
    x = net.input(*MATRIX)
    return [net.reduce("Sum", x, 0), net.reduce("Sum", x, 1), net.reduce("Max", x, 0, 1)]


def softmax_cross_entropy_mean(net):
    labels = net.input(*MATRIX)
    product = net("Mul", labels, _log_softmax(net, net.input(*MATRIX)))
    return [net("Neg", net.reduce("Mean", net.reduce("Sum", product, keep=False), 0))]


def layer_norm_parameters_backward(net):
    normal, dy = _norm(net, net.input(*MATRIX))[0], net.input(*MATRIX)
    return [net.reduce("Sum", net("Mul", normal, dy), 0), net.reduce("Sum", dy, 0)]


PATTERNS: Tuple[Callable, ...] = (
    softmax, log_softmax, layer_norm, rms_norm, batch_norm_training, batch_norm_inference_relu,
    instance_norm, l2_normalize, sigmoid_cross_entropy_mean, softmax_cross_entropy, focal_loss,
    huber_loss, gelu_tanh_bias, swiglu, dropout_residual_norm, adam, momentum, adagrad, moments,
    masked_softmax, log_sum_exp, cosine_similarity, layer_norm_backward, softmax_backward,
    sigmoid_cross_entropy_backward, abs_reduce_sum_columns, mean_square_error, gelu_erf_bias,
    transposed_sum, joined_columns, every_second_row_backwards, padded_scaled,
    row_and_column_sums, softmax_cross_entropy_mean, layer_norm_parameters_backward,
)


class Case(NamedTuple):
    """A lowered pattern and the dims of its kernel inputs, symbols where the size is of run time;
    `make` builds it in a `Net` and gives the tensors that leave it."""

    name: str
    lowered: LoweredKernel
    dims: Tuple[Tuple[int, ...], ...]
    make: Callable[[Net], Sequence[TensorRef]]

    @property
    def dtype(self) -> str:
        return self.name.rsplit(" ", 1)[1]

    def at(self, sizes: Mapping[int, int]) -> "Case":
        """The same with static shapes: lowered anew with these sizes in the place of symbols."""
        return made_case(self.name, self.make, sizes)


def made_case(name: str, make: Callable, sizes: Optional[Mapping[int, int]] = None) -> Case:
    """What `make` builds as one kernel; the last word of `name` is the dtype of tensors."""
    net = Net(name.rsplit(" ", 1)[1], sizes)
    lowered = net.lowered(*make(net))
    dims = tuple(net.infos[ref].dims or () for ref in lowered.inputs)
    return Case(name, lowered, dims, make)


def case(pattern: Callable, dtype: str = "float32") -> Case:
    """The pattern as one kernel on tensors of `dtype`."""
    return made_case("%s %s" % (pattern.__name__, dtype), pattern)
