"""`python -m llmcore.cli`."""

import sys

from llmcore.cli import main

sys.exit(main())
