"""Amazon Bedrock: the models of many makers over Converse, Chat Completions, Responses, Messages.

The provider's id is `bedrock`. All APIs are at `bedrock-runtime`. The Messages API is at
`bedrock-mantle`, too, another host with ids of its own (`anthropic.claude-opus-4-8`), and what
InvokeModel takes and returns for Claude has its form.

Documents, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/
model-parameters-anthropic-claude-messages-request-response.html (InvokeModel),
https://docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html (bearer keys),
https://docs.aws.amazon.com/general/latest/gr/bedrock.html (endpoints).
Key: AWS_BEARER_TOKEN_BEDROCK. Without it requests are signed (Signature Version 4) by
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or by what botocore's credential chain finds, for which
the `bedrock` extra is installed.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, cast
from urllib.parse import quote

from attrs import evolve

from llmcore.protocols import anthropic_messages, bedrock_converse, openai_chat, openai_responses
from llmcore.protocols.anthropic_messages import MessagesBody
from llmcore.protocols.anthropic_messages.models import rules_of_invoked
from llmcore.protocols.bedrock_converse import ConverseBody
from llmcore.protocols.openai_chat import COMPATIBLE, ChatBody
from llmcore.protocols.openai_responses import ResponsesBody
from llmcore.protocols.protocol import Built, with_bodies
from llmcore.routes.anthropic import BETA_HEADER, betas_of, needed_betas
from llmcore.routes.auth import Auth, choose_auth
from llmcore.routes.base_url import checked_base_url
from llmcore.routes.defaults import RouteDefaults, with_headers
from llmcore.routes.endpoint import Endpoint, EndpointContext, PathOf
from llmcore.routes.framing import Framing
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route, beside
from llmcore.routes.sigv4 import AwsCredentials, RegionOf, sigv4_of_chain, sigv4_of_environ
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import without
from llmcore.schema.model import Model

PROVIDER: Final = "bedrock"
SERVICE: Final = "bedrock"
"""The service name in signatures, which differs from that of the host."""
MANTLE_SERVICE: Final = "bedrock-mantle"
"""The name for the host of the Messages API."""
MESSAGES_VERSION: Final = "2023-06-01"
MESSAGES_PATH: Final = "/anthropic/v1/messages"
_MESSAGES_HEADERS: Final = {"anthropic-version": MESSAGES_VERSION}
TIER_HEADER: Final = "x-amzn-bedrock-service-tier"
INVOKE_VERSION: Final = "bedrock-2023-05-31"
KEY_VARIABLE: Final = "AWS_BEARER_TOKEN_BEDROCK"
REGION_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_RUNTIME_ID: Final = re.compile(r"[a-z-]+\.anthropic\..+|.+:.+")
"""Ids of Claude models at `bedrock-runtime`: inference profiles, versions (`-v1:0`) and ARNs."""
_REGION: Final = re.compile(r"[a-z]{2,}(-[a-z]+)+-\d+")
_DOMAINS: Final = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}
"""Domains by prefixes of regions. Source: `partitions.json` of botocore 1.44."""


@frozen(init=False)
class AmazonBedrock(ConfigurableProvider):
    """Amazon Bedrock: `AmazonBedrock(region="eu-west-1").model("eu.amazon.nova-lite-v1:0")`.

    `model` uses Converse; `chat`, `responses`, `messages` and `invoke` use Bedrock's other APIs.
    Credentials are `api_key`, AWS_BEARER_TOKEN_BEDROCK, or those of AWS. Documents:
    https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html.
    """

    route: Route[ConverseBody]
    """The route of all models over Converse."""
    messages_route: Route[MessagesBody]
    """The route of Claude models over Messages, at `bedrock-mantle`."""

    def __init__(
        self,
        *,
        region: str | None = None,
        api_key: str | None = None,
        auth: Auth | None = None,
        profile: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure Amazon Bedrock; everything has a default.

        Without `region` it is that of AWS_REGION or AWS_DEFAULT_REGION when a request is prepared.
        `api_key` is a Bedrock API key, short for `auth=Auth.bearer(api_key)`; `profile` names a
        section of the AWS files: give one of the three. `base_url` is for other endpoints, such
        as those of a VPC; requests are signed for the region all the same.
        """
        region_of = _region_of(region)
        given = None if base_url is None else checked_base_url(base_url)
        route = Route.make(
            id=bedrock_converse.protocol.id,
            provider=PROVIDER,
            protocol=bedrock_converse.protocol,
            endpoint=Endpoint.path(
                bedrock_converse.converse_path,
                base_url=given or partial(_base_url, region_of),
                query=query,
            ),
            auth=_auth(SERVICE, api_key, auth, profile, region_of),
            framing=Framing.aws_event_stream(),
            defaults=with_headers(defaults, headers),
        )
        messages = Route.make(
            id="bedrock-messages",
            provider=PROVIDER,
            protocol=_MESSAGES,
            endpoint=Endpoint.path(
                MESSAGES_PATH,
                base_url=given or partial(_mantle_url, region_of),
                query=query,
            ),
            auth=_auth(MANTLE_SERVICE, api_key, auth, profile, region_of),
            defaults=with_headers(route.defaults, None, _MESSAGES_HEADERS),
        )
        self._set_fields(route=route, messages_route=messages)

    @property
    def chat_route(self) -> Route[ChatBody]:
        """The route of models over Chat Completions."""
        return self._beside("bedrock-chat", _CHAT, "/openai/v1/chat/completions")

    @property
    def responses_route(self) -> Route[ResponsesBody]:
        """The route of models over the Responses API."""
        return self._beside("bedrock-responses", openai_responses.protocol, "/openai/v1/responses")

    @property
    def runtime_messages_route(self) -> Route[MessagesBody]:
        """The route of Claude models over Messages, at `bedrock-runtime`."""
        protocol = evolve(_MESSAGES, count_tokens=None)  # it has no such operation
        route = self._beside("bedrock-runtime-messages", protocol, MESSAGES_PATH)
        return route.with_(defaults=self.messages_route.defaults)

    @property
    def invoke_route(self) -> Route[MessagesBody]:
        """The route of Claude models over InvokeModel and InvokeModelWithResponseStream."""
        route = self._beside("bedrock-invoke", _INVOKED, invoke_path)
        return route.with_(framing=Framing.aws_event_stream())

    def _beside(self, id_: str, protocol: Any, target: str | PathOf) -> Route[Any]:
        return beside(self.route, target, id_, protocol).with_(framing=Framing.sse())

    def model(self, model_id: str) -> Model[ConverseBody]:
        """Return the model *model_id*: an id, an inference profile's id, or an ARN."""
        return self.route.model(model_id)

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*, reached over Chat Completions."""
        return self.chat_route.model(model_id)

    def responses(self, model_id: str) -> Model[ResponsesBody]:
        """Return the model *model_id*, reached over the Responses API."""
        return self.responses_route.model(model_id)

    def messages(self, model_id: str) -> Model[MessagesBody]:
        """Return the Claude model *model_id*, reached over Messages.

        The id of an inference profile (`eu.anthropic....`), one with a version (`...-v1:0`) and
        an ARN are of `bedrock-runtime`, others (`anthropic.claude-opus-4-8`) of `bedrock-mantle`.
        """
        runtime = _RUNTIME_ID.fullmatch(model_id)
        return (self.runtime_messages_route if runtime else self.messages_route).model(model_id)

    def invoke(self, model_id: str) -> Model[MessagesBody]:
        """Return the Claude model *model_id*, reached over InvokeModel.

        It is for what InvokeModel alone has: permissions of that name, guardrails by headers.
        """
        return self.invoke_route.model(model_id)


def invoke_path(context: EndpointContext) -> str:
    """Return the path of InvokeModel: the model's id or ARN encoded as one segment."""
    operation = "invoke-with-response-stream" if context.streaming else "invoke"
    return f"/model/{quote(context.model_id, safe='')}/{operation}"


_CHAT: Final = openai_chat.make(
    evolve(
        COMPATIBLE,
        service_tiers=tuple(bedrock_converse.SERVICE_TIERS.items()),
        # https://github.com/ren8k/aws-gpt-oss-samples (`gpt-oss/completion_stream.py`)
        think_tags=((r".*gpt-oss.*", "reasoning"),),
    )
)


_OUTSIDE: Final = frozenset({"model", "stream", "service_tier"})
"""Fields of the Messages API that InvokeModel does not have in its body."""


def _invoked(built: Built[MessagesBody]) -> Built[MessagesBody]:
    """Return the body for InvokeModel: model and stream are in the path, beta features in the body.

    It is as https://pypi.org/project/anthropic/ sends it (`anthropic/lib/bedrock`). The service
    tier is a header: https://docs.aws.amazon.com/bedrock/latest/APIReference/
    API_runtime_InvokeModel.html, read November 2026.
    """
    native = without(built.body, *_OUTSIDE)
    betas = {"anthropic_beta": betas_of(built)} if betas_of(built) else {}
    body = cast("MessagesBody", {"anthropic_version": INVOKE_VERSION, **betas, **native})
    others = without(built.headers, BETA_HEADER)
    tier = built.body.get("service_tier")
    return evolve(built, body=body, headers={**others, **({TIER_HEADER: tier} if tier else {})})


_MESSAGES: Final = with_bodies(
    anthropic_messages.make(system_messages=False, service_tiers={}), needed_betas
)
_INVOKED: Final = evolve(
    with_bodies(
        anthropic_messages.make(
            rules_of=rules_of_invoked,
            system_messages=False,
            service_tiers=bedrock_converse.SERVICE_TIERS,
        ),
        lambda built: _invoked(needed_betas(built)),
    ),
    count_tokens=None,
)


def _auth(
    service: str, api_key: str | None, auth: Auth | None, profile: str | None, region: RegionOf
) -> Auth:
    if profile is not None:
        if api_key is not None or auth is not None:
            raise ConfigurationError("give either profile or api_key or auth, and not two of them")
        return sigv4_of_chain(service, region, profile=profile)
    fallback = Auth.first_of(
        Auth.env(KEY_VARIABLE),
        sigv4_of_environ(service, region),
        sigv4_of_chain(service, region, fetch_when=_has_no_keys),
    )
    return choose_auth(api_key=api_key, auth=auth, fallback=fallback)


def _has_no_keys(environ: Mapping[str, str]) -> bool:
    """Return whether *environ* has neither a Bedrock key nor an access key."""
    return not environ.get(KEY_VARIABLE) and AwsCredentials.from_environ(environ) is None


def _region_of(region: str | None) -> RegionOf:
    if region is not None:
        given = _checked(region, "region")
        return lambda _environ: given
    return _region_of_environ


def _region_of_environ(environ: Mapping[str, str]) -> str:
    for name in REGION_VARIABLES:
        value = environ.get(name, "").strip()
        if value:
            return _checked(value, name)
    names = " or ".join(REGION_VARIABLES)
    message = f"no AWS region: set {names}, or configure the provider with region=..."
    raise ConfigurationError(message, provider=PROVIDER)


def _checked(region: str, source: str) -> str:
    if _REGION.fullmatch(region):
        return region
    message = f"{source} {region!r} is not an AWS region: write it like 'us-east-1'"
    raise ConfigurationError(message, provider=PROVIDER)


def _base_url(region_of: RegionOf, environ: Mapping[str, str]) -> str:
    region = region_of(environ)
    domains = (domain for start, domain in _DOMAINS.items() if region.startswith(start))
    domain = next(domains, "amazonaws.com")
    return f"https://bedrock-runtime.{region}.{domain}"


def _mantle_url(region_of: RegionOf, environ: Mapping[str, str]) -> str:
    return f"https://bedrock-mantle.{region_of(environ)}.api.aws"
