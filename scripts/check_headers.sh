#!/usr/bin/env bash
# Type-check generated Ascend C against the public headers: ASCENDC_INCLUDE=<asc-devkit> with its
# include/ and impl/ folders. The golden texts and some kernels printed now are compiled without
# code; only what the compiler says about lines of a kernel counts, because the headers themselves
# want the device compiler. Exit 1 when a kernel does not fit.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Headers that come with the device compiler or are generated; the kernels need nothing of them.
EMPTY_HEADERS=(stub_fun.h simt_stub.h kernel_fp16.h kernel_bf16.h kernel_tiling/kernel_tiling.h)

write_names() { # FOLDER: what the device compiler knows by itself, and CANN's op compiler emits
  local name
  for name in "${EMPTY_HEADERS[@]}"; do
    mkdir -p "$(dirname "$1/$name")"
    : >"$1/$name"
  done
  cat >"$1/stub_def.h" <<'NAMES'
#pragma once
#include <cassert>
#include <cstdint>
#define __aicore__
#define __global__
#define __vector__
#define __mix__(...)
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __ssbuf__
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __inout_pipe__(...)
#define __sync_alias__
#define __sync_noalias__
#define __check_sync_alias__
#define __BLOCK_LOCAL__
#define __WORKGROUP_LOCAL__
#define GM_ADDR __gm__ uint8_t*
enum pipe_t {
  PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_FIX = 10
};
enum event_t {
  EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7
};
struct half { uint16_t bits; half() = default; half(float); operator float() const; };
struct bfloat16_t { uint16_t bits; bfloat16_t() = default; bfloat16_t(float); };
namespace AscendC {
GM_ADDR GetUserWorkspace(GM_ADDR workspace);
}
#define GET_TILING_DATA_WITH_STRUCT(type, name, from) \
  type name = *reinterpret_cast<const type*>(from)
NAMES
}

print_kernels() { # FOLDER: golden texts and some patterns on some chips
  local text
  for text in tests/codegen/golden/*.txt; do cp "$text" "$1/golden_$(basename "$text" .cpp.txt).cc"; done
  PYTHONPATH="$ROOT:$ROOT/tests" .venv/bin/python - "$1" <<'PRINT'
import os, sys
from sweep import patterns
from sweep.runner import Sweep

def calls(net):
    x = net.input(*patterns.MATRIX)
    for type_ in ("Floor", "Ceil", "Rint", "Erf", "Erfc", "Sin", "Cos", "Tanh"):
        x = net(type_, x)
    return [x]

for chip in ("Ascend910B", "Ascend950", "Ascend310P"):
    for pattern, dtype in ((patterns.layer_norm, "float32"), (patterns.gelu_tanh_bias, "float16"),
                           (patterns.masked_softmax, "bfloat16"), (patterns.adam, "float32"),
                           (calls, "float32")):
        text = Sweep(patterns.case(pattern, dtype), chip).source.text
        path = os.path.join(sys.argv[1], "%s_%s_%s.cc" % (pattern.__name__, dtype, chip))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
PRINT
}

faults() { # KERNEL NAMES: the errors of lines of the kernel
  local folder flags=()
  for folder in "" /include /include/basic_api /impl/basic_api; do
    flags+=("-I$ASCENDC_INCLUDE$folder")
  done
  { "${CXX:-g++}" -std=c++17 -fsyntax-only -fpermissive -w -DASCENDC_CPU_DEBUG=1 \
    -include "$2/stub_def.h" "${flags[@]}" "-I$2" "$1" 2>&1 || true; } |
    grep -E "^$1:[0-9:]+ error:|fatal error:" || true
}

main() {
  if [[ -z "${ASCENDC_INCLUDE:-}" ]]; then
    echo "check_headers: skipped, ASCENDC_INCLUDE is not set"
    return 0
  fi
  cd "$ROOT"
  WORK="$(mktemp -d)"
  trap 'rm -rf "$WORK"' EXIT
  mkdir "$WORK/names" "$WORK/kernels"
  write_names "$WORK/names"
  # A call that no header has must be seen; else nothing here means anything.
  printf '#include "kernel_operator.h"\nvoid f(AscendC::LocalTensor<float> t) { AscendC::Abs(t); }\n' \
    >"$WORK/control.cc"
  [[ -n "$(faults "$WORK/control.cc" "$WORK/names")" ]] || die "a wrong call was not seen"
  print_kernels "$WORK/kernels"
  local kernel found failed=0
  for kernel in "$WORK"/kernels/*.cc; do
    found="$(faults "$kernel" "$WORK/names")"
    if [[ -n "$found" ]]; then
      failed=1
      note "$(basename "$kernel" .cc): does not fit"
      printf '%s\n' "$found" | head -n 20
    else
      note "$(basename "$kernel" .cc): fits"
    fi
  done
  return "$failed"
}

main "$@"
