#!/usr/bin/env bash
# Build the GE side on a host with CANN: the operator AutofusedKernel, its prototype header, and
# the bridge that registers the Python passes with a GE that has no Python passes of its own.
#
#   source .../set_env.sh && scripts/build_cann.sh [FOLDER]      default: build/cann
#
# CXX names the compiler, PYTHON the interpreter that the bridge is for (default: python3).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[[ -n "${ASCEND_HOME_PATH:-}" ]] ||
  die "ASCEND_HOME_PATH is not set: source set_env.sh of the CANN toolkit first"
[[ -d "$ASCEND_HOME_PATH/include" ]] ||
  die "ASCEND_HOME_PATH=$ASCEND_HOME_PATH has no folder include: is this a CANN toolkit?"

OUT="$(mkdir -p "${1:-$ROOT/build/cann}" && cd "${1:-$ROOT/build/cann}" && pwd)"
CXX="${CXX:-g++}"
command -v "$CXX" >/dev/null || die "no C++ compiler: install g++ or set CXX"
LIB="$OUT/op_graph/lib/linux/$(uname -m)"
mkdir -p "$LIB" "$OUT/op_graph/include" "$OUT/python"

INCLUDES=()
for folder in include include/graph include/external pkg_inc; do
  [[ -d "$ASCEND_HOME_PATH/$folder" ]] && INCLUDES+=(-I "$ASCEND_HOME_PATH/$folder")
done
# The libraries of CANN use the old string ABI.
FLAGS=(-std=c++17 -O2 -fPIC -shared -Wall -D_GLIBCXX_USE_CXX11_ABI=0 -fvisibility=hidden
  "${INCLUDES[@]}")
LINK=(-L "$ASCEND_HOME_PATH/lib64")

# link_library NAME... : -lNAME for those that this version of CANN has.
link_library() {
  local name
  for name in "$@"; do
    if compgen -G "$ASCEND_HOME_PATH/lib64/lib$name.*" >/dev/null; then LINK+=("-l$name"); fi
  done
}

say "Operator"
OPERATOR=()
for source in "$ROOT"/csrc/ge/*.cc "$ROOT"/csrc/core/*.cc; do
  case "$source" in
    */custom_fusion_passes.cc | */graph_face.cc | */python_bridge.cc) ;;
    *) OPERATOR+=("$source") ;;
  esac
done
if [[ -e "$ASCEND_HOME_PATH/include/graph/custom_op.h" ]]; then
  link_library ascendcl acl_rtc lowering register gert custom_op_registry_static graph_base
  "$CXX" "${FLAGS[@]}" -o "$LIB/libtf_autofuse_ge.so" "${OPERATOR[@]}" "${LINK[@]}" -ldl
  cp "$ROOT/csrc/ge/op_proto.h" "$OUT/op_graph/include/"
  note "$LIB/libtf_autofuse_ge.so"
else
  note "this CANN has no graph/custom_op.h; use tf-autofuse fuse --format opproject instead"
fi
cp "$ROOT/csrc/ge/python/autofused_kernel.py" "$OUT/python/"

say "Bridge for a GE without Python passes"
PYTHON="${PYTHON:-python3}"
# Include folders of Python and pybind11, and the shared libpython if there is one.
facts() {
  "$PYTHON" -c '
import os, sysconfig
import pybind11

paths = sysconfig.get_paths()
bundled = "tensorflow/include/external/local_config_python/python_include"
folders = [paths["include"], os.path.join(paths["purelib"], bundled)]
found = [folder for folder in folders if os.path.exists(os.path.join(folder, "Python.h"))]
library = os.path.join(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDLIBRARY"))
shared = library.endswith(".so") and os.path.exists(library)
print(found[0])
print(pybind11.get_include())
print(library if shared else "")' 2>/dev/null
}
if mapfile -t PY < <(facts) && [[ "${#PY[@]}" == 3 ]]; then
  PASSES="$OUT/custom_fusion_passes"
  mkdir -p "$PASSES/python"
  STAGE=()
  grep -qs kAfterBuiltinFusionPass "$ASCEND_HOME_PATH"/include/register/register_custom_pass.h &&
    STAGE=(-DAUTOFUSE_HAS_PASS_STAGE)
  LINK=(-L "$ASCEND_HOME_PATH/lib64")
  link_library register graph graph_base ascendcl
  "$CXX" "${FLAGS[@]}" -isystem "${PY[0]}" -isystem "${PY[1]}" \
    -o "$PASSES/python/libtf_autofuse_bridge.so" \
    "$ROOT"/csrc/ge/graph_face.cc "$ROOT"/csrc/ge/python_bridge.cc "${LINK[@]}"
  "$CXX" "${FLAGS[@]}" "${STAGE[@]}" "-DAUTOFUSE_LIBPYTHON=\"${PY[2]}\"" \
    -o "$PASSES/libtf_autofuse_passes.so" "$ROOT/csrc/ge/custom_fusion_passes.cc" "${LINK[@]}" -ldl
  note "$PASSES"
  note "only for a GE without Python passes: link it as"
  note "  \$ASCEND_OPP_PATH/vendors/tf_autofuse/custom_fusion_passes"
else
  note "not built: $PYTHON has no pybind11 or no Python.h"
fi

say "Put this into the environment of the script"
note "export ASCEND_CUSTOM_OPP_PATH=$OUT\${ASCEND_CUSTOM_OPP_PATH:+:\$ASCEND_CUSTOM_OPP_PATH}"
