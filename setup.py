"""Packaging: carries passes/ and csrc/ into the package, and builds the TensorFlow extension.

The extension is built for the TensorFlow of the building environment, when there is one
(`pip install --no-build-isolation .`); otherwise it is built at first use.
"""

import importlib.util
import os
import shutil
import subprocess
import sys

from setuptools import Distribution, find_namespace_packages, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.develop import develop
except ImportError:  # gone from newer setuptools, whose editable installs go through build_py
    develop = None

ROOT = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "tf_autofuse"
DATA = {"passes": (".py",), "csrc": (".h", ".cc", ".hpp", ".cpp", ".py")}


def can_build():
    """Whether this environment has what the extension is built with."""
    needed = ("tensorflow", "pybind11")
    return all(importlib.util.find_spec(name) is not None for name in needed)


def build_extension(root=""):
    """Build into `root`, or in place. A failure is reported and left to the first use."""
    if not can_build():
        print("TensorFlow or pybind11 is not here: the extension will be built at first use")
        return
    command = [sys.executable, "-W", "ignore", "-m", PACKAGE + ".build.tf_shim"]
    environment = dict(os.environ, PYTHONPATH=ROOT)
    if subprocess.call(command + (["--root", root] if root else []), cwd=ROOT, env=environment):
        print("the TensorFlow extension did not build; it will be tried again at first use")


def copy_data(target):
    """Copy the data folders into the built package."""
    for folder, endings in DATA.items():
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            inside = os.path.join(target, os.path.relpath(where, ROOT))
            for name in names:
                if name.endswith(endings):
                    os.makedirs(inside, exist_ok=True)
                    shutil.copy2(os.path.join(where, name), inside)


class BuildPackage(build_py):
    """build_py, then the data folders and the extension."""

    def run(self):
        super().run()
        if getattr(self, "editable_mode", False):
            build_extension()
            return
        package = os.path.join(os.path.abspath(self.build_lib), PACKAGE)
        for folder in ("_data", "_lib"):  # what an earlier build left there
            shutil.rmtree(os.path.join(package, folder), ignore_errors=True)
        copy_data(os.path.join(package, "_data"))
        build_extension(os.path.join(package, "_lib"))


COMMANDS = {"build_py": BuildPackage}

if develop is not None:

    class Develop(develop):
        """develop (editable installs of older setuptools), then the extension in place."""

        def run(self):
            super().run()
            build_extension()

    COMMANDS["develop"] = Develop


class PlatformDistribution(Distribution):
    """A wheel that holds the extension is for this platform and Python only."""

    def has_ext_modules(self):
        return can_build()


# All metadata is here: the setuptools of Python 3.7 environments reads none from pyproject.toml.
setup(
    name="tf-autofuse",
    version="0.1.0",
    description="Automatic operator fusion for TensorFlow on Ascend",
    license="Apache-2.0",
    python_requires=">=3.7",
    packages=find_namespace_packages(
        include=[PACKAGE, PACKAGE + ".*"], exclude=["*._lib*", "*._data*"]
    ),
    install_requires=["numpy>=1.18", "protobuf>=3.19", "pybind11>=2.10", "jinja2>=3.0"],
    package_data={PACKAGE + ".report": ["assets/*"]},
    entry_points={"console_scripts": ["tf-autofuse=tf_autofuse.cli.main:main"]},
    cmdclass=COMMANDS,
    distclass=PlatformDistribution,
    zip_safe=False,
)
