"""The table of the gateway's metrics."""

import re
from pathlib import Path

from llmcore.bridge.http.metrics import Metrics

_PAGE = Path(__file__).parents[2] / "docs" / "deployment.md"


def test_every_metric_has_a_row_and_every_row_a_metric() -> None:
    exposed = Metrics().exposition().decode()
    table = _PAGE.read_text().split("## Metrics", 1)[1]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)

    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(re.findall(r"^# TYPE openbridge_(\w+)", exposed, re.MULTILINE))
