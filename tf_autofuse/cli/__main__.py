"""``python -m tf_autofuse.cli``."""

import sys

from tf_autofuse.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
