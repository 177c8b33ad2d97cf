"""Loop kernels whose reductions run over different axes: one walk for several, or stages."""
from kernel_samples import kernel


def rows_and_columns(dtype="float32"):
    """Row, column and total reductions of one input."""
    return kernel(
        [dtype], [dtype] * 4, "m0 m1",
        "%0 = load in0 [m0, m1] : {}".format(dtype),
        "%1 = reduce.max %0 over m1 : {} [m0]".format(dtype),
        "%2 = reduce.min %0 over m0 : {} [m1]".format(dtype),
        "%3 = reduce.max %0 over m0 : {} [m1]".format(dtype),
        "%4 = reduce.min %0 over m0 m1 : {} []".format(dtype),
        "store out0 [m0] %1", "store out1 [m1] %2", "store out2 [m1] %3", "store out3 [] %4")


def means_of_all():
    """Means over rows, columns and both."""
    return kernel(
        ["float32"], ["float32"] * 3, "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = reduce.mean %0 over m1 : float32 [m0]",
        "%2 = reduce.mean %0 over m0 : float32 [m1]",
        "%3 = mul %0 %0 : float32 [m0, m1]",
        "%4 = reduce.mean %3 over m0 m1 : float32 []",
        "store out0 [m0] %1", "store out1 [m1] %2", "store out2 [] %4")


def sums_of_blocks():
    """Rows of two axes that an operand keeps apart, column sums of both."""
    return kernel(
        ["float32", "float32"], ["float32", "float32"], "m0 m1 m2",
        "%0 = load in0 [m0, m1, m2] : float32",
        "%1 = load in1 [m2] : float32",
        "%2 = add %0 %1 : float32 [m0, m1, m2]",
        "%3 = reduce.sum %2 over m1 m2 : float32 [m0]",
        "%4 = reduce.sum %2 over m0 : float32 [m1, m2]",
        "store out0 [m0] %3", "store out1 [m1, m2] %4")


def loss_of_rows():
    """The mean of the logarithms of sums of exponentials of rows."""
    return kernel(
        ["float32"], ["float32", "float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = reduce.max %0 over m1 : float32 [m0]",
        "%2 = sub %0 %1 : float32 [m0, m1]",
        "%3 = exp %2 : float32 [m0, m1]",
        "%4 = reduce.sum %3 over m1 : float32 [m0]",
        "%5 = log %4 : float32 [m0]",
        "%6 = add %5 %1 : float32 [m0]",
        "%7 = reduce.mean %6 over m0 : float32 []",
        "%8 = div %3 %4 : float32 [m0, m1]",
        "store out0 [] %7", "store out1 [m0, m1] %8")


def total_of_columns():
    """The sum of the variances of columns."""
    return kernel(
        ["float32"], ["float32", "float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = reduce.mean %0 over m0 : float32 [m1]",
        "%2 = sub %0 %1 : float32 [m0, m1]",
        "%3 = mul %2 %2 : float32 [m0, m1]",
        "%4 = reduce.mean %3 over m0 : float32 [m1]",
        "%5 = reduce.sum %4 over m1 : float32 []",
        "store out0 [m1] %4", "store out1 [] %5")


def centred_twice():
    """A matrix less the means of its rows and columns: three stages."""
    return kernel(
        ["float32"], ["float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = reduce.mean %0 over m0 : float32 [m1]",
        "%2 = reduce.mean %0 over m1 : float32 [m0]",
        "%3 = sub %0 %1 : float32 [m0, m1]",
        "%4 = sub %3 %2 : float32 [m0, m1]",
        "store out0 [m0, m1] %4")


def layer_norm_gradient():
    """What training needs of a layer norm: the gradients of the input, of gamma and of beta."""
    return kernel(
        ["float32", "float32", "float32"], ["float32"] * 3, "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = load in1 [m0, m1] : float32",
        "%2 = load in2 [m1] : float32",
        "%3 = reduce.mean %0 over m1 : float32 [m0]",
        "%4 = sub %0 %3 : float32 [m0, m1]",
        "%5 = mul %4 %4 : float32 [m0, m1]",
        "%6 = reduce.mean %5 over m1 : float32 [m0]",
        "%e = const 0.001 : float32",
        "%v = add %6 %e : float32 [m0]",
        "%7 = rsqrt %v : float32 [m0]",
        "%8 = mul %4 %7 : float32 [m0, m1]",
        "%9 = mul %8 %1 : float32 [m0, m1]",
        "%10 = reduce.sum %9 over m0 : float32 [m1]",
        "%11 = reduce.sum %1 over m0 : float32 [m1]",
        "%12 = mul %1 %2 : float32 [m0, m1]",
        "%13 = reduce.mean %12 over m1 : float32 [m0]",
        "%14 = mul %12 %8 : float32 [m0, m1]",
        "%15 = reduce.mean %14 over m1 : float32 [m0]",
        "%16 = sub %12 %13 : float32 [m0, m1]",
        "%17 = mul %8 %15 : float32 [m0, m1]",
        "%18 = sub %16 %17 : float32 [m0, m1]",
        "%19 = mul %18 %7 : float32 [m0, m1]",
        "store out0 [m0, m1] %19", "store out1 [m1] %10", "store out2 [m1] %11")


STAGED = {
    "rows_and_columns": rows_and_columns(),
    "rows_and_columns_half": rows_and_columns("float16"),
    "rows_and_columns_int": rows_and_columns("int32"),
    "means_of_all": means_of_all(),
    "sums_of_blocks": sums_of_blocks(),
    "loss_of_rows": loss_of_rows(),
    "total_of_columns": total_of_columns(),
    "centred_twice": centred_twice(),
    "layer_norm_gradient": layer_norm_gradient(),
}
