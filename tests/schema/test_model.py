"""Models: ids, routes and defaults."""

import pickle

from attrs import frozen

from llmcore.schema.model import Model


@frozen
class SecretRoute:
    """A route, as the schema sees it."""

    id: str
    provider: str
    key: str


def test_a_route_is_not_a_part_of_a_models_value() -> None:
    """Two ways to the same model are the same model, and the way does not show."""
    route = SecretRoute("acme-chat", "acme", "secret")
    model = Model("roadrunner", "acme", route=route)

    assert model == Model("roadrunner", "acme")
    assert hash(model) == hash(Model("roadrunner", "acme"))
    assert repr(model) == "Model(id='roadrunner', provider='acme')"
    assert model.route is route


def test_a_model_pickles_with_a_route_that_does() -> None:
    """A worker process can use the same way."""
    model = Model("roadrunner", "acme", route=SecretRoute("acme-chat", "acme", "secret"))

    assert pickle.loads(pickle.dumps(model)).route == model.route
