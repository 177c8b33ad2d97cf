"""The op project: its host side compiles against stand-in headers, its tiling and shapes hold."""

import glob
import os
import subprocess

from cann_build import HERE, compile_cxx
from nets import Net

from tf_autofuse.cli import main as cli

# The host file is included, so that its functions and its types can be called here.
PROBE = """
#include <cstdio>

#include "%s"

int main() {
  gert::TilingContext context(4096);
  context.inputs.resize(2);
  for (const int64_t dim : {7, 40}) context.inputs[0].MutableStorageShape().AppendDim(dim);
  context.inputs[1].MutableStorageShape().AppendDim(40);
  const bool tiled = optiling::TilingFunc(&context) == ge::GRAPH_SUCCESS;
  gert::FakeNode node;
  node.inputs.resize(2);
  node.outputs.resize(1);
  for (const int64_t dim : {-1, 40}) node.inputs[0].shape.MutableStorageShape().AppendDim(dim);
  node.inputs[1].shape.MutableStorageShape().AppendDim(40);
  gert::InferShapeContext shapes(&node);
  gert::InferDataTypeContext types(&node);
  const bool inferred = ge::InferShape(&shapes) == ge::GRAPH_SUCCESS &&
                        ge::InferDataType(&types) == ge::GRAPH_SUCCESS;
  const gert::Shape& out = node.outputs[0].GetStorageShape();
  std::printf("%%d %%d %%u %%zu %%lld %%lld\\n", tiled, inferred, context.blocks, context.workspace,
              static_cast<long long>(out.GetDim(0)), static_cast<long long>(out.GetDim(1)));
  return 0;
}
"""


def test_the_host_side_tiles_and_infers(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    net = Net(-1, 40)
    graph = net.graph(net("Exp", net("Add", net("Abs", net.data()), net.data(40))))
    graph.save_to_air(str(tmp_path / "graph.air"))
    out = str(tmp_path / "out")
    assert cli.main(["fuse", str(tmp_path / "graph.air"), "--format", "opproject", "-o", out]) == 0
    (host,) = glob.glob(os.path.join(out, "op_host", "autofused_*", "*.cpp"))
    probe = tmp_path / "probe.cc"
    probe.write_text(PROBE % host)
    core = sorted(glob.glob(os.path.join(out, "op_host", "core", "*.cc")))
    program = compile_cxx(
        ["-Wno-extra", "-Wno-unused-parameter", "-I", os.path.join(HERE, "include"), str(probe)]
        + core,
        str(tmp_path / "probe"),
    )
    words = subprocess.check_output([program]).decode().split()
    tiled, inferred, blocks, workspace, rows, columns = map(int, words)
    assert (tiled, inferred, rows, columns) == (1, 1, -1, 40)
    assert 1 <= blocks <= 20 and workspace >= 16 << 20
