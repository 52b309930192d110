"""The profile of a run: the one that the command line names, or one made of its requests or its locustfile."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec

from .. import paths, profile
from ..addresses import is_host_and_port, is_http_url, is_same_service, without_userinfo
from ..drafting import curl, reading, references
from ..drafting.profile_text import THINK_TIME_S
from ..drafting.request import Request
from ..errors import InputError
from ..profile import TITLE_MOST, Profile, Task, Users, Wait
from ..session.names import slug
from ..toml import convert, shown
from . import adhoc
from .asking import ask
from .run_arguments import RunArguments

DEFAULT_PROFILE = "mixed"
LOCUSTFILE = Path("locustfile.py")
"""The file that Locust reads if none is named."""


def with_service_and_users(asked: RunArguments) -> RunArguments:
    """The same run with what the command line names in short: `run URL` is `--host ORIGIN --request PATH`, and without a profile,
    requests or a locustfile, those of the working folder are offered. Raises InputError: a service without requests.
    """
    if asked.profile is not None and curl.is_curl(asked.profile):
        asked = replace(asked, profile=None, requests=(asked.profile, *asked.requests))
    elif asked.profile is not None and "://" in asked.profile:
        asked = _of_url(asked, asked.profile)
    elif asked.profile is not None and is_host_and_port(asked.profile.partition("/")[0]) and not os.path.exists(asked.profile):
        raise InputError(f"no profile `{asked.profile}`; the URL of a service is http://{asked.profile}")
    if asked.values and not asked.requests:
        raise InputError("--values: needs --request; a profile has [users.values]")
    if asked.requests:
        for option, value in (("a profile", asked.profile), ("-f", asked.locustfile)):
            if value is not None:
                raise InputError(f"--request: cannot be combined with {option}, whose users make the requests")
        return asked if asked.names_service else replace(asked, host=_origin(asked.requests))
    if asked.profile is not None or asked.locustfile is not None:
        return asked
    return _offered(asked)


def _of_url(asked: RunArguments, given: str) -> RunArguments:
    """`given`: a URL in place of a profile's name. Beside `--request` it names the service alone."""
    if asked.names_service:
        raise InputError(f"{without_userinfo(given)}: cannot be combined with {asked.names_service}: both name the service")
    if not is_http_url(given):
        raise InputError(f"expected http://HOST[:PORT][/PATH] or https://..., got {shown(without_userinfo(given))}")
    parts = urlsplit(given)
    origin, path = f"{parts.scheme}://{parts.netloc}", given.partition("://")[2].removeprefix(parts.netloc).partition("#")[0]
    if path not in ("", "/") and asked.requests:
        raise InputError(f"{without_userinfo(given)}: expected a URL without a path beside --request: add --request {path}")
    return replace(asked, profile=None, host=origin, requests=asked.requests or (path if path[:1] == "/" else f"/{path}",))


def _origin(requests: tuple[str, ...]) -> str:
    """The service to which all these requests go. Raises InputError if they do not say."""
    origins = {found.origin for found in _read(requests)}
    if None in origins or len(origins) > 1:
        expected = "expected the service beside it: run URL, --target-cmd COMMAND, or requests with one whole URL"
        raise InputError(f"--request: {expected}")
    return str(origins.pop())


def _offered(asked: RunArguments) -> RunArguments:
    """With the locustfile or the only profile of the working folder, if the user wants it; without one, the sample's profile."""
    here: dict[str, RunArguments] = {}
    if LOCUSTFILE.is_file():
        here[f"-f {LOCUSTFILE}"] = replace(asked, locustfile=LOCUSTFILE)
    here |= {name: replace(asked, profile=name) for name in paths.own_profiles()}
    if not here and asked.names_service:
        wanted = 'which requests do users make? Add --request /PATH or --request "POST /PATH {...}", a profile, or -f LOCUSTFILE'
        raise InputError(f"{asked.names_service}: {wanted}")
    if not here:
        return replace(asked, profile=DEFAULT_PROFILE)
    first, *others = here
    question = f"this folder has {first.removeprefix('-f ')}: run it? y/n"
    if not others and os.isatty(0) and ask(question, "y").lower().startswith("y"):
        return here[first]
    sample = "" if asked.names_service else f"; the sample is `run {DEFAULT_PROFILE}`"
    raise InputError(f"expected what to run: this folder has {_listed(here)}{sample}")


def _listed(here: Mapping[str, RunArguments]) -> str:
    return ", ".join(f"`run {each}`" for each in here)


def profile_of(asked: RunArguments) -> tuple[str, Profile, str, dict[str, str]]:
    """(name, profile, file, variables), after `with_service_and_users`. `file`: what messages about the profile name as its
    source. `variables`: those that its tasks may name, with their values: the environment's, and secrets of `--request`."""
    variables = dict(os.environ)
    if asked.requests:
        return _service_name(asked), _of_requests(asked, variables), "--request", variables
    if asked.locustfile is not None and asked.profile is None:
        placeholder = Users(task=(Task(name="/"),))
        title = f"locustfile {asked.locustfile.name}"
        return asked.locustfile.stem, Profile(title=title, users=placeholder), str(asked.locustfile), variables
    path = paths.profile(asked.profile or DEFAULT_PROFILE)
    return path.stem, profile.load(path), str(path), variables


def _service_name(asked: RunArguments) -> str:
    if asked.target_cmd is not None:
        return re.sub(r"\W+", "-", adhoc.name_of(asked.target_cmd)).strip("-") or "command"
    if asked.compose is not None:
        return slug(asked.compose.resolve().parent.name)
    parts = urlsplit(asked.host or "")
    return slug(f"{parts.hostname}-{parts.port or parts.scheme}")


def _of_requests(asked: RunArguments, variables: dict[str, str]) -> Profile:
    """Users who make the requests of the command line. Their secrets are added to the variables, as those of a profile are, so
    that no log has them; not to the environment, which the target inherits.
    """
    secrets = references.Secrets(variables)
    tasks = tuple(references.task(found, secrets) for found in _read(asked.requests, asked.host))
    title = ", ".join(f"{task.method} {task.name}" for task in tasks)
    values = reading.values(asked.values, "--values")
    for name in sorted({name for task in tasks for name in task.placeholders} - set(values)):
        raise InputError(f"--request: {{{{{name}}}}} needs --values {name}=A,B,C or {name}=FILE.csv[:COLUMN]")
    found = Profile(title=title[:TITLE_MOST], users=Users(task=tasks, values=values, wait_s=Wait(between=THINK_TIME_S)))
    checked = convert(msgspec.to_builtins(found), Profile, "--request")
    profile.check(checked, "--request")
    return checked


def _read(requests: tuple[str, ...], host: str | None = None) -> Iterator[Request]:
    """The requests in their order; those to other services than `host` are refused."""
    for text in requests:
        described = reading.read(text, "--request", host)
        for each in described.left_out:
            click.echo(f"--request: left out: {each} (to have it, give it with its body)", err=True)
        for found in described.requests:
            if host is not None and found.origin is not None and not is_same_service(found.origin, host):
                raise InputError(
                    f"--request: {found.origin}{found.path} is not at {without_userinfo(host)}, the service of this run"
                )
            yield found
