"""Helpers of the CANN tests live beside this file."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
