"""The files of deploy/ set variables that the gateway reads, and agree with each other."""

import configparser
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from llmcore.bridge.configuration.reading import settings_from
from llmcore.bridge.configuration.settings import GatewaySettings, Limits
from tests.support.servers.bridge_service import listening, settings_for
from tests.support.servers.loopback import chat_handler, serve

DEPLOY = Path(__file__).parents[2] / "deploy"
SECRETS = {"OPENBRIDGE_CLIENT_API_KEY": "k", "OPENAI_API_KEY": "k"}
NEEDED_S = 2 * Limits().shutdown_s
"""For a stop: responses that clients wait for, and then background responses."""


def read(name: str) -> str:
    return (DEPLOY / name).read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile's last stage."""
    text = read("Dockerfile").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line and not line.startswith("#")]
    found = [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]
    last = max(place for place, (name, _) in enumerate(found) if name == "FROM")
    return found[last:]


def one(name: str) -> str:
    (value,) = [rest for found, rest in instructions() if found == name]
    return value


def image_environ() -> dict[str, str]:
    pairs = [rest.partition("=") for name, rest in instructions() if name == "ENV"]
    return {name: value for name, _, value in pairs}


def settings_of(environ: Mapping[str, str]) -> GatewaySettings:
    """Return the settings of a container: an unknown variable would be an error."""
    return settings_from({**image_environ(), **SECRETS, **environ})


# -- the image


def test_the_image_is_slim_and_not_root() -> None:
    settings = settings_of({})

    assert one("FROM").startswith("python:3.1")
    assert one("FROM").endswith("-slim")
    assert int(one("USER").split(":")[0]) >= 1000
    assert json.loads(one("ENTRYPOINT")) + json.loads(one("CMD")) == ["openbridge", "serve"]
    assert (settings.is_public, str(settings.port)) == (True, one("EXPOSE"))
    assert settings.limits.rate_per_minute > 0


def test_what_is_written_lies_in_the_volume() -> None:
    volume = Path(one("VOLUME"))

    assert str(settings_of({}).state.path).startswith(f"{volume}/")
    assert (Path(image_environ()["HOME"]), Path(one("WORKDIR"))) == (volume, volume)
    assert image_environ()["PYTHONDONTWRITEBYTECODE"] == "1"


def test_the_build_gets_what_it_copies_and_no_more() -> None:
    ignored = read("Dockerfile.dockerignore").splitlines()
    kept = [line.removeprefix("!") for line in ignored if line.startswith("!")]

    assert ignored[0] == "**"
    assert all((DEPLOY.parent / name).exists() for name in kept)
    assert {"llmcore", "pyproject.toml", "README.md", "LICENSE"} <= set(kept)


def test_the_health_check_is_the_gateways(monkeypatch: pytest.MonkeyPatch) -> None:
    """It succeeds for one that runs, and fails for a port where none is."""
    words = json.loads(one("HEALTHCHECK").partition(" CMD ")[2])
    assert words[1].endswith("/healthcheck.py")

    def code(port: str) -> int:
        command = [sys.executable, str(DEPLOY / "healthcheck.py")]
        environ = {"OPENBRIDGE_PORT": port}
        done = subprocess.run(command, env=environ, check=False, capture_output=True)
        return done.returncode

    with serve(chat_handler) as upstream, listening(settings_for(upstream.url)) as url:
        port = url.removesuffix("/v1").rpartition(":")[2]
        assert code(port) == 0
    assert code(port) == 1


# -- compose

_SERVICE: dict[str, Any] = {
    "build": {"context": str, "dockerfile": str},
    "image": str,
    "command": [str],
    "env_file": str,
    "environment": dict,
    "ports": [str],
    "read_only": bool,
    "tmpfs": [str],
    "volumes": [str],
    "cap_drop": [str],
    "security_opt": [str],
    "stop_grace_period": str,
    "restart": str,
    "depends_on": {name: {"condition": str} for name in ("redis", "postgres")},
    "healthcheck": {"test": [str], "interval": str, "timeout": str, "retries": int},
}
_COMPOSE: dict[str, Any] = {
    "services": dict.fromkeys(("gateway", "redis", "postgres"), _SERVICE),
    "volumes": {name: {} for name in ("spend", "store")},
}
"""The fields that are used, as https://github.com/compose-spec/compose-spec has them."""


@pytest.mark.parametrize("store", ["redis", "postgres"])
def test_a_compose_file_runs_gateways_on_one_store(store: str) -> None:
    whole = yaml.safe_load(read(f"compose.{store}.yaml"))
    services = whole["services"]
    gateway = services["gateway"]
    environ = {
        name: re.sub(r"\$\{[^}]*\}", "secret", value)
        for name, value in gateway["environment"].items()
    }
    settings = settings_of(environ)

    assert settings.state.backend == store
    assert f"@{store}:" in "".join(environ.values()) or f"//{store}:" in "".join(environ.values())
    assert gateway["depends_on"][store]["condition"] == "service_healthy"
    assert "healthcheck" in services[store]
    assert gateway["read_only"] is True
    assert gateway["cap_drop"] == ["ALL"]
    assert gateway["build"]["dockerfile"] == "deploy/Dockerfile"
    assert seconds(gateway["stop_grace_period"]) > NEEDED_S
    assert all(port.endswith(f":{one('EXPOSE')}") for port in gateway["ports"])
    assert gateway["volumes"] == [f"spend:{one('VOLUME')}"]
    assert "/tmp" in gateway["tmpfs"]
    assert faults(whole, _COMPOSE, store) == []
    assert set(whole["volumes"]) == {"spend", "store"}


def seconds(text: str) -> float:
    """Return a duration such as `4m30s`."""
    units = {"h": 3600, "m": 60, "s": 1}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"(\d+)([hms])", text))


# -- Kubernetes

_PROBE: dict[str, Any] = {
    "httpGet": {"path": str, "port": str},
    "periodSeconds": int,
    "timeoutSeconds": int,
    "failureThreshold": int,
}
_LABELS = {"app": str}
_METADATA: dict[str, Any] = {"name": str, "labels": _LABELS, "annotations": dict}
_NAME = {"name": str}
_CONTAINER: dict[str, Any] = {
    "name": str,
    "image": str,
    "imagePullPolicy": str,
    "ports": [{"name": str, "containerPort": int}],
    "envFrom": [{"configMapRef": _NAME, "secretRef": _NAME}],
    "resources": {
        "requests": {"cpu": str, "memory": str},
        "limits": {"memory": str},
    },
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "readOnlyRootFilesystem": bool,
        "capabilities": {"drop": [str]},
    },
    "startupProbe": _PROBE,
    "readinessProbe": _PROBE,
    "livenessProbe": _PROBE,
    "lifecycle": {"preStop": {"exec": {"command": [str]}}},
    "volumeMounts": [{"name": str, "mountPath": str}],
}
_POD: dict[str, Any] = {
    "automountServiceAccountToken": bool,
    "enableServiceLinks": bool,
    "terminationGracePeriodSeconds": int,
    "securityContext": {
        "runAsNonRoot": bool,
        "runAsUser": int,
        "runAsGroup": int,
        "fsGroup": int,
        "seccompProfile": {"type": str},
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": int,
            "topologyKey": str,
            "whenUnsatisfiable": str,
            "labelSelector": {"matchLabels": _LABELS},
        }
    ],
    "containers": [_CONTAINER],
    "volumes": [{"name": str, "emptyDir": {"sizeLimit": str}}],
}
_KINDS: dict[tuple[str, str], dict[str, Any]] = {
    ("v1", "ConfigMap"): {"data": dict},
    ("apps/v1", "Deployment"): {
        "spec": {
            "replicas": int,
            "selector": {"matchLabels": _LABELS},
            "strategy": {
                "type": str,
                "rollingUpdate": {"maxUnavailable": int, "maxSurge": int},
            },
            "template": {"metadata": _METADATA, "spec": _POD},
        }
    },
    ("v1", "Service"): {
        "spec": {"selector": _LABELS, "ports": [{"name": str, "port": int, "targetPort": str}]}
    },
    ("policy/v1", "PodDisruptionBudget"): {
        "spec": {"maxUnavailable": int, "selector": {"matchLabels": _LABELS}}
    },
}
"""The fields that are used, as https://kubernetes.io/docs/reference/kubernetes-api/ has them."""


def faults(value: Any, form: Any, place: str) -> list[str]:
    """Return what of *value* is not of *form*."""
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return [place]
        unknown = [f"{place}.{name}" for name in value if name not in form]
        known = [name for name in value if name in form]
        return unknown + [
            fault for name in known for fault in faults(value[name], form[name], f"{place}.{name}")
        ]
    if isinstance(form, list):
        items = value if isinstance(value, list) else [value]
        return [
            fault
            for number, item in enumerate(items)
            for fault in faults(item, form[0], f"{place}[{number}]")
        ]
    return [] if type(value) is form else [place]


def manifests() -> dict[str, Any]:
    documents = yaml.safe_load_all(read("kubernetes.yaml"))
    return {document["kind"]: document for document in documents}


@pytest.mark.parametrize("kind", [kind for _, kind in _KINDS])
def test_a_manifest_has_fields_that_kubernetes_knows(kind: str) -> None:
    manifest = manifests()[kind]
    form = _KINDS[manifest["apiVersion"], kind]
    whole = {"apiVersion": str, "kind": str, "metadata": _METADATA, **form}

    assert faults(manifest, whole, kind) == []
    assert manifest["metadata"]["name"] == "openbridge"


def test_the_manifests_fit_together_and_the_image() -> None:
    found = manifests()
    assert set(found) == {kind for _, kind in _KINDS}
    template = found["Deployment"]["spec"]["template"]
    pod = template["spec"]
    (container,) = pod["containers"]
    settings = settings_of(found["ConfigMap"]["data"])
    labels = template["metadata"]["labels"]

    assert labels == found["Service"]["spec"]["selector"]
    assert labels == found["Deployment"]["spec"]["selector"]["matchLabels"]
    assert settings.state.backend == "redis"
    assert container["ports"] == [{"name": "http", "containerPort": settings.port}]
    assert f"{pod['securityContext']['runAsUser']}" == one("USER").split(":")[0]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {one("VOLUME"), "/tmp"}
    assert [mount["name"] for mount in container["volumeMounts"]] == [
        volume["name"] for volume in pod["volumes"]
    ]
    assert pod["enableServiceLinks"] is False  # else OPENBRIDGE_PORT is the Service's address
    pause = float(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > pause + 2 * settings.limits.shutdown_s
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "http"}


def test_a_wrong_field_is_found() -> None:
    """The check of the manifests can fail."""
    assert faults({"spec": {"ports": [{"port": "80"}]}}, _KINDS["v1", "Service"], "S") == [
        "S.spec.ports[0].port"
    ]
    assert faults({"spec": {"port": 80}}, _KINDS["v1", "Service"], "S") == ["S.spec.port"]


# -- systemd


class _Unit(configparser.RawConfigParser):
    def optionxform(self, optionstr: str) -> str:
        return optionstr


def unit() -> configparser.RawConfigParser:
    parser = _Unit(strict=False, delimiters=("=",))
    parser.read_string(read("openbridge.service"))
    return parser


def test_the_unit_runs_the_installed_gateway_and_waits_for_its_responses() -> None:
    service = unit()["Service"]

    assert service["ExecStart"].split() == ["/opt/openbridge/bin/openbridge", "serve"]
    assert float(service["TimeoutStopSec"]) > NEEDED_S
    assert "SIGTERM" in service["SuccessExitStatus"]
    assert service["ProtectSystem"] == "strict"
    assert service["DynamicUser"] == "yes"


def test_the_unit_is_one_that_systemd_accepts(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    text = read("openbridge.service").replace("/opt/openbridge/bin/openbridge", sys.executable)
    path = tmp_path / "openbridge.service"
    path.write_text(text)
    done = subprocess.run(
        [program, "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
