"""Dockerfile and compose.yaml: what they name exists. Only `docker` itself could run them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from fnmatch import fnmatch

import pytest
import yaml
from pages import ROOT

from revise_captions.command_line.captions import load_command

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
SERVICES = yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", COMPOSE))["services"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_command_parses_and_asks_the_critic_that_is_served():
    critic, captions = SERVICES["critic"], SERVICES["captions"]
    name, *words = captions["command"]
    command = load_command(name)
    command.make_context(name, list(words))
    (model, *given), named = critic["command"], dict(zip(words[2::2], words[3::2], strict=False))
    port = given[given.index("--port") + 1]
    assert named["--critic"] == f"{model}@http://critic:{port}/v1"
    assert f"localhost:{port}/health" in critic["healthcheck"]["test"][-1]
    assert captions["depends_on"] == {"critic": {"condition": "service_healthy"}}


def test_the_image_has_what_it_names():
    (extras,) = re.findall(r"(?m)^ARG EXTRAS=(\S+)$", DOCKERFILE)
    assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    (entry,) = re.findall(r"(?m)^ENTRYPOINT (.*)$", DOCKERFILE)
    assert json.loads(entry)[0] in PROJECT["project"]["scripts"]
    ignored = (ROOT / ".dockerignore").read_text().split()
    needed = {*PROJECT["tool"]["setuptools"]["package-dir"].values(), "README.md", "LICENSE"}
    assert not [name for name in needed for one in ignored if fnmatch(name.split("/")[0], one)]


@pytest.mark.parametrize(
    "program", ["hadolint Dockerfile", "docker compose -f compose.yaml config --quiet"]
)
def test_other_programs_have_nothing_to_say(program):
    first, second, *_ = words = program.split()
    if shutil.which(first) is None:
        pytest.skip(f"{first} is not installed")
    if (
        first == "docker"
        and subprocess.run([first, second, "version"], capture_output=True).returncode
    ):
        pytest.skip("docker has no compose")
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr
