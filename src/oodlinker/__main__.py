"""`python -m oodlinker` is `oodlinker`."""

import sys

from oodlinker.cli import main

sys.exit(main())
