"""Host stand-in of the TF1 adapter package: NPU scripts run on the CPU, fused by tf_autofuse."""

version = "host"
