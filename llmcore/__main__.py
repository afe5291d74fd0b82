"""`python -m llmcore`, the same as the command `llmcore`."""

import sys

from llmcore.cli import main

sys.exit(main())
