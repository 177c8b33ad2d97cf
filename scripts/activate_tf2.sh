# source scripts/activate_tf2.sh : use the environment that scripts/setup_tf_env.sh tf2 made.
_autofuse_venv="$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")/.." && pwd)/.venv-tf2"
if [ -f "$_autofuse_venv/bin/activate" ]; then
  . "$_autofuse_venv/bin/activate"
else
  echo "$_autofuse_venv is missing: run scripts/setup_tf_env.sh tf2 first" >&2
fi
unset _autofuse_venv
