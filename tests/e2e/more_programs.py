"""Thirteen more real programs: where each comes from, and what its first start needs.

KNELL_E2E_PROGRAMS may name a directory that has them already, each in a folder of its kind's name
(`node_modules/.bin` or `venv/bin` in it); what is not there is installed into a temporary place.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

KEY, MODEL = "sk-stand-in", "toy"
PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
# The newest first: under 3.12.1 kimi 1.47.0 ends at its start.
THEIRS = sorted(map(str, PYENV.glob("versions/3.1[23].*/bin/python3")), reverse=True)
PYTHONS = ("python3.13", *THEIRS, "python3.12")
Env = dict[str, str]


class Place(NamedTuple):
    """Where a program is set up."""

    home: Path
    address: str  # of the model, as a program of OpenAI's wire wants it


class MoreProgram(NamedTuple):
    name: str  # knell's kind
    package: str  # with its version; several, where the one that has the command lacks the program
    settle: Callable[[Place], None] = lambda _place: None  # writes its settings
    env: Callable[[str], Env] = lambda _address: {}
    args: tuple[str, ...] = ()  # {home} is its home
    first: tuple[tuple[str, tuple[str, ...]], ...] = ()  # questions of a first start, and the keys
    ready: str = ""  # on its screen once it takes a prompt, where its kind has no pattern for that
    account: bool = False  # without one it shows nothing but its question for it
    help: tuple[str, ...] = ("--help",)  # argv that lists what resumes

    @property
    def from_pip(self) -> bool:
        return "==" in self.package


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def settle_qwen(place: Place) -> None:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"name": MODEL},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    write(place.home / ".qwen/settings.json", json.dumps(settings))


def settle_cn(place: Place) -> None:
    lines = ("name: toy", "version: 1.0.0", "schema: v1", "models:", f"  - name: {MODEL}")
    model = (f"model: {MODEL}", f"apiBase: {place.address}", f"apiKey: {KEY}", "roles: [chat]")
    more = ("    provider: openai", *(f"    {line}" for line in model))
    tools = "    capabilities: [tool_use]"
    write(place.home / ".continue/config.yaml", "\n".join((*lines, *more, tools)) + "\n")


def settle_kilo(place: Place) -> None:
    options = {"baseURL": place.address, "apiKey": KEY}
    provider = {
        "npm": "@ai-sdk/openai-compatible", "name": "Toy", "options": options,
        "models": {MODEL: {"name": "Toy"}},
    }  # fmt: skip
    settings = {"autoupdate": False, "model": f"toy/{MODEL}", "provider": {"toy": provider}}
    write(place.home / ".config/kilo/kilo.json", json.dumps(settings))


def settle_kimi(place: Place) -> None:
    provider = ("[providers.toy]", 'type = "openai_legacy"', f'base_url = "{place.address}"')
    model = ("[models.toy]", 'provider = "toy"', f'model = "{MODEL}"', "max_context_size = 100000")
    key = f'api_key = "{KEY}"'
    lines = ('default_model = "toy"', "telemetry = false", *provider, key, *model)
    write(place.home / ".kimi/config.toml", "\n".join(lines) + "\n")


def settle_vibe(place: Place) -> None:
    provider = ("[[providers]]", 'name = "toy"', f'api_base = "{place.address}"')
    more = ('api_key_env_var = "OPENAI_API_KEY"', 'api_style = "openai"', 'backend = "generic"')
    model = ("[[models]]", f'name = "{MODEL}"', 'provider = "toy"', 'alias = "toy"')
    quiet = ("enable_telemetry = false", "enable_update_checks = false")
    lines = ('active_model = "toy"', *quiet, *provider, *more, *model)
    write(place.home / ".vibe/config.toml", "\n".join(lines) + "\n")


def settle_cline(place: Place) -> None:
    provider = {
        "settings": {
            "provider": "openai-compatible", "apiKey": KEY, "model": MODEL,
            "baseUrl": place.address,
        },
        "updatedAt": "2026-11-16T17:02:23.350Z",
        "tokenSource": "manual",
    }  # fmt: skip
    settings = {
        "version": 1, "lastUsedProvider": "openai-compatible", "modes": {},
        "providers": {"openai-compatible": provider},
    }  # fmt: skip
    write(place.home / ".cline/data/settings/providers.json", json.dumps(settings))


def openai(address: str) -> Env:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": address, "OPENAI_MODEL": MODEL}


def aider_env(address: str) -> Env:
    off = ("CHECK_UPDATE", "SHOW_RELEASE_NOTES", "SHOW_MODEL_WARNINGS", "ANALYTICS")
    quiet = {f"AIDER_{name}": "false" for name in off}
    return {**openai(address), "OPENAI_API_BASE": address, **quiet}


def copilot_env(address: str) -> Env:
    quiet = {"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}
    return {"COPILOT_PROVIDER_BASE_URL": address, "COPILOT_MODEL": MODEL, **quiet}


def kilo_env(_address: str) -> Env:
    off = ("MODELS_FETCH", "AUTOUPDATE", "DEFAULT_PLUGINS", "CODEBASE_INDEXING", "LSP_DOWNLOAD")
    return {"KILO_TELEMETRY_LEVEL": "off", **{f"KILO_DISABLE_{name}": "1" for name in off}}


def openhands_env(address: str) -> Env:
    model = {"LLM_API_KEY": KEY, "LLM_BASE_URL": address, "LLM_MODEL": f"openai/{MODEL}"}
    return {**model, "OPENHANDS_SUPPRESS_BANNER": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


MORE = (
    MoreProgram(
        "aider", "aider-chat==0.86.2", env=aider_env, args=("--model", "openai/toy", "--no-git")
    ),
    MoreProgram("amp", "@sourcegraph/amp", account=True, help=("threads", "continue", "--help")),
    MoreProgram("auggie", "@augmentcode/auggie@0.36.0", account=True),
    MoreProgram(
        "cline", "cline@3.0.65", settle_cline, openai,
        first=(("any other key to close", ("Escape",)),),
    ),
    MoreProgram(
        "cn", "@continuedev/cli@1.5.47", settle_cn, openai,
        ("--config", "{home}/.continue/config.yaml"),
    ),
    MoreProgram(
        "copilot", "@github/copilot@1.0.102", env=copilot_env,
        first=(("Do you trust the files in this folder", ("Down", "Enter")),),
    ),
    MoreProgram("crush", "@charmland/crush@0.96.1", account=True),
    MoreProgram("droid", "@factory/cli @factory/cli-linux-x64@0.225.2", account=True),
    MoreProgram("kilo", "@kilocode/cli@7.7.7", settle_kilo, kilo_env),
    MoreProgram("kimi", "kimi-cli==1.47.0", settle_kimi),
    MoreProgram(
        "openhands", "openhands==1.16.0", env=openhands_env,
        args=("--override-with-envs", "--exit-without-confirmation"), ready="Type your message",
    ),
    MoreProgram("qwen", "@qwen-code/qwen-code@0.15.10", settle_qwen, openai),
    MoreProgram("vibe", "mistral-vibe==3.0.2", settle_vibe, openai, ("--trust",)),
)  # fmt: skip


# -- installing ------------------------------------------------------------------------------------


class CannotInstall(Exception):
    """The registry, or the package's own installer, did not give the program."""


def commands_of(program: MoreProgram, fresh: Path) -> Path:
    """The directory with its command; what cannot be installed is tried once in a session."""
    given = os.environ.get("KNELL_E2E_PROGRAMS", "")
    folders = [fresh / program.name, *([Path(given, program.name)] if given else [])]
    for folder in folders:
        for commands in (folder / "node_modules/.bin", folder / "venv/bin"):
            if (commands / program.name).exists():
                return commands
    failed = fresh / f"{program.name}.failed"
    if failed.exists():
        raise CannotInstall(failed.read_text())
    try:
        return install(program, fresh / program.name)
    except CannotInstall as error:
        failed.write_text(str(error))
        raise


def install(program: MoreProgram, where: Path) -> Path:
    if program.from_pip:
        return install_from_pip(program, where)
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel", "error")
    run("npm", "install", "--prefix", str(where), *quiet, *program.package.split())
    return where / "node_modules/.bin"


def install_from_pip(program: MoreProgram, where: Path) -> Path:
    """With the first Python that it takes: some want a newer one than others allow."""
    failed = CannotInstall(f"{program.name} needs Python 3.12 or 3.13")
    for interpreter in filter(runs, PYTHONS):
        run(interpreter, "-m", "venv", "--clear", str(where / "venv"))
        try:
            run(str(where / "venv/bin/pip"), "install", "-q", program.package)
        except CannotInstall as error:
            failed = error
        else:
            return where / "venv/bin"
    raise failed


def runs(interpreter: str) -> bool:
    """pyenv puts a `python3.13` on PATH that only says that it is not switched on."""
    if not shutil.which(interpreter):
        return False
    words = [interpreter, "-c", "pass"]
    return not subprocess.run(words, capture_output=True, check=False, timeout=60).returncode


def run(*argv: str) -> None:
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        named = [line for line in lines if "Error:" in line]  # what is thrown, not where
        raise CannotInstall(named[-1] if named else done.stderr.strip()[-300:])
