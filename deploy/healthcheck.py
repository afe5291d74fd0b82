"""Exits with 0 if the gateway of this machine answers, for Docker's HEALTHCHECK.

`/healthz` needs no key. A gateway whose store is away still answers requests that need none, so
that is not a reason to restart it.
"""

import os
import sys
import urllib.request

port = os.environ.get("OPENBRIDGE_PORT", "8787")
try:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
        sys.exit(0 if answer.status == 200 else 1)
except OSError as error:
    sys.exit(f"the gateway does not answer: {error}")
