"""Models with their capabilities, limits and prices. Advisory: no call depends on it.

In reading order: `lookup` (what callers use), `cost` (of a call), `estimate` (of one that is to be
sent), `model_info` (the values), `model_names` (the forms of an id), `records` (the data file),
`own_models` (files of the user's). models.json is made by scripts/refresh_catalog.py from the
prices that the package genai-prices collects (MIT, the Pydantic team and contributors) and from
facts that are kept by hand; models.schema.json describes it. It is read at the first look-up and
never fetched.
"""

from llmcore.catalog.cost import cost_of as cost_of
from llmcore.catalog.cost import response_cost as response_cost
from llmcore.catalog.lookup import Capability as Capability
from llmcore.catalog.lookup import get_latest_model as get_latest_model
from llmcore.catalog.lookup import get_model_info as get_model_info
from llmcore.catalog.lookup import list_models as list_models
from llmcore.catalog.model_info import ModelInfo as ModelInfo
from llmcore.catalog.model_info import Prices as Prices
from llmcore.catalog.model_info import Rates as Rates
