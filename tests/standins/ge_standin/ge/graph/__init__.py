"""Graphs, nodes, tensors and their enumerations."""
from .graph import DumpFormat, Graph
from .node import Node
from .tensor import Shape, Tensor, TensorDesc
from .types import DataType, Format

__all__ = ["DataType", "DumpFormat", "Format", "Graph", "Node", "Shape", "Tensor", "TensorDesc"]
