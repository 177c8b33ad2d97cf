"""Device resources of the adapter: there is no device to open on the host."""


def init_rdma_pool(mem_size):
    """Would reserve memory for remote access."""


def rdma_remote_register(remote_var_list):
    """Would register memory for remote access."""


def npu_resource_init(graph_run_mode=1, **settings):
    """Would open the device."""


def npu_resource_shutdown():
    """Would close the device."""


def npu_close():
    """Would close the device at the end of the process."""


def set_device_sat_mode(mode):
    """Overflow mode: the CPU always gives inf and nan."""


def is_inf_nan_enabled():
    """True: the CPU gives inf and nan."""
    return True
