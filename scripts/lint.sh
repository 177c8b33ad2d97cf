#!/usr/bin/env bash
# Lint: ruff and mypy for Python, clang-format for C++, generated documents against their tables.
# Tools live in .venv-lint. `scripts/lint.sh --fix` rewrites what can be rewritten.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

LINT_REQUIREMENTS=(ruff==0.17.6 mypy==2.4.1 clang-format==23.1.5 numpy)

main() {
  local fix=no
  [[ "${1:-}" == "--fix" ]] && fix=yes
  ensure_venv .venv-lint "$(find_python 3.11 3.12 3.13 3.10)" "${LINT_REQUIREMENTS[@]}"
  local bin="$ROOT/.venv-lint/bin" failed=0
  cd "$ROOT"
  local cxx=()
  mapfile -t cxx < <(git ls-files 'csrc/*.h' 'csrc/*.cc' 'csrc/*.cpp')
  if [[ "$fix" == yes ]]; then
    "$bin/ruff" check --fix . || failed=1
    "$bin/python" scripts/gen_docs.py
    if ((${#cxx[@]})); then "$bin/clang-format" -i "${cxx[@]}"; fi
  else
    "$bin/ruff" check . || failed=1
    "$bin/python" scripts/gen_docs.py --check || failed=1
    if ((${#cxx[@]})); then "$bin/clang-format" --dry-run -Werror "${cxx[@]}" || failed=1; fi
  fi
  "$bin/mypy" || failed=1
  return "$failed"
}

main "$@"
