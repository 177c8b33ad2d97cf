"""Running kernels: on the host, on the Ascend C twin, inside TensorFlow."""
