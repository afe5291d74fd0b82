"""Which models reject sampling parameters (temperature, top_p, penalties, log probabilities).

A pattern is for a model's whole id; the empty one fits none.
"""

import re
from typing import Final

from attrs import frozen


@frozen(kw_only=True)
class FixedSampling:
    """The models of one provider that choose for themselves."""

    always: str = ""
    unless_off: str = ""
    """Models that reject the parameters unless the reasoning effort is `none`."""
    with_effort: str = ""
    """Models that reject them unless the reasoning effort is `none` or left unset."""

    def rejects(self, model: str, effort: str | None) -> bool:
        """Return whether *model* rejects sampling parameters while it thinks with *effort*."""
        if fits(self.always, model):
            return True
        if effort == "none":
            return False
        if fits(self.unless_off, model):
            return True
        return effort is not None and fits(self.with_effort, model)


def fits(pattern: str, model: str) -> bool:
    """Return whether *pattern* is for *model*."""
    return bool(pattern) and re.fullmatch(pattern, model) is not None


OPENAI: Final = FixedSampling(
    # https://developers.openai.com/api/docs/guides/deployment-checklist ("when reasoning effort is
    # not none, remove temperature"; from GPT-5.5 on it is not unless it is asked to be),
    # https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning ("not supported")
    always=r"o[134](-.*)?|gpt-5(-(mini|nano|pro|codex).*|-\d.*)?",
    unless_off=r"gpt-5\.(\d-(pro|codex)|[5-9]).*|gpt-([6-9]|[12]\d).*",
    with_effort=r"gpt-5\.[1-4].*",
)
