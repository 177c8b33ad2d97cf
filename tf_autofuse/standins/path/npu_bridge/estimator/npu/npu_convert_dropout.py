"""Importing this makes Keras dropout the device's; on the host it stays TensorFlow's."""
