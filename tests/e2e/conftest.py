"""End-to-end tests need TensorFlow and a C++ compiler; they run under every TensorFlow."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
