"""`python -m trueup.paper`: the paper's experiments."""

import sys

from trueup.paper.run import main

if __name__ == "__main__":
    sys.exit(main())
