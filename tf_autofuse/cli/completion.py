"""``tf-autofuse completion``: commands and options for the shell, made from the parser itself."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

_BASH = """_tf_autofuse() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words="{commands}"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _tf_autofuse tf-autofuse
"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"

_EXAMPLES = """examples:
  tf-autofuse completion bash >> ~/.bashrc
  source <(tf-autofuse completion zsh)

exit code: 0; 2 bad input."""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "completion",
        help="print what completes commands and options in a shell",
        description="Prints shell code to be read by bash or zsh.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.set_defaults(execute=lambda options: execute(options, commands.choices))


def execute(options: argparse.Namespace, parsers: Dict[str, argparse.ArgumentParser]) -> int:
    """Print the code; always 0."""
    cases = [
        '      {}) words="{}" ;;'.format(name, " ".join(_words(parser)))
        for name, parser in parsers.items()
    ]
    code = _BASH.format(commands=" ".join(parsers), cases="\n".join(cases))
    print((_ZSH if options.shell == "zsh" else "") + code, end="")
    return 0


def _words(parser: argparse.ArgumentParser) -> List[str]:
    """Options of a command, and the values of its arguments that have a list of them."""
    words: List[str] = []
    for action in parser._actions:
        words += action.option_strings or [str(choice) for choice in action.choices or ()]
    return words
