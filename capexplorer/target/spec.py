"""`targets/NAME/target.toml` as a typed, frozen value: the command, the readiness check and the parameters.

Starts nothing and opens nothing but that file. Every mistake is one line: file, key, what was expected.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..errors import InputError
from ..model.controls import Param
from ..toml import load, nearest

Command = Annotated[tuple[str, ...], Meta(min_length=1)]
"""A program and its arguments."""
UrlPath = Annotated[str, Meta(pattern=r"(?#a path that starts with /)^/[!-~]*\Z")]

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_RESERVED_NAMES = ("python", "port", "folder", "scratch")
"""Placeholders that no parameter may be named after."""

CONTAINERS_FILE = "containers.json"
"""In the scratch folder: see `containers.py`."""
COMPOSE_GRACE_S = 30.0
"""Services stop within 20 s or are killed (`containers_process.py`); removing a dozen containers took 4 s."""

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_TYPE_NAMES = {str: "text", int: "an integer", float: "a number", bool: "true or false"}


class Ready(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The readiness check: this path answers with 2xx or 3xx."""

    path: UrlPath = "/"
    timeout_s: Annotated[float, Meta(gt=0, le=3_600)] = 20.0
    any_status: bool = False
    """Any HTTP status will do."""
    tcp: bool = False
    """A connection that is accepted will do, and nothing is sent: the service does not speak HTTP."""


class Build(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command that runs before each start and must end with exit code 0; it should be quick if nothing has changed."""

    command: Command
    """As the target's command: in its folder, with the same placeholders."""
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] = 600.0
    """With a cold cache a compiler makes its standard library, too: 30 s on an idle machine, minutes on a busy one."""


class ParamSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A parameter of the target. Its type is its default's."""

    default: Param
    doc: str = ""
    choices: tuple[Param, ...] = ()
    """All values that are allowed; empty: any."""
    min: int | float | None = None
    max: int | float | None = None

    def expected(self) -> str:
        """What a value must be, in words: `an integer from 1 to 8`."""
        if self.choices:
            return "one of " + ", ".join(_as_text(choice) for choice in self.choices)
        type_name = _TYPE_NAMES[type(self.default)]
        if self.min is not None and self.max is not None:
            return f"{type_name} from {self.min} to {self.max}"
        bounds = [f" of at least {self.min}" * (self.min is not None), f" of at most {self.max}" * (self.max is not None)]
        return type_name + "".join(bounds)

    def parse(self, given: Param) -> Param | None:
        """A value, or a text as it was typed, converted to this parameter's type; None if it is not allowed."""
        value = _read(given, type(self.default))
        if value is None or (self.choices and value not in self.choices):
            return None
        if isinstance(value, int | float):
            too_low = self.min is not None and value < self.min
            too_high = self.max is not None and value > self.max
            return None if too_low or too_high else value
        return value


class Metrics(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the target serves its own figures: a JSON object whose numbers are read."""

    path: UrlPath


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str
    command: Command
    """It is run in the target's folder. Placeholders: {python}, {port}, {folder}, {scratch}, and each parameter's name."""
    environment: dict[str, str] = {}
    """Variables added to the app's environment; the same placeholders."""
    build: Build | None = None
    ready: Ready = Ready()
    needs: tuple[str, ...] = ()
    """Programs other than Python that must be on PATH; `doctor` checks them."""
    packages: tuple[str, ...] = ()
    """Python packages that it imports, if its command has the placeholder {python}: this program's own Python must have them."""
    params: dict[str, ParamSpec] = {}
    metrics: Metrics | None = None


class TargetSpec(_File, frozen=True, kw_only=True):
    """A target: its folder and what its target.toml says."""

    folder: Path
    scratch: Path = Path("/tmp/capexplorer")
    """Where the program may write: the session's own folder, kept when the target restarts and removed when the session ends."""

    given_name: str | None = None
    """Its name, if it has no folder of its own to be named after."""

    declared_in: str | None = None
    """The file or option that has its command and its parameters, if that is no target.toml."""

    compose: bool = False
    """Its command runs the containers of a Compose file (see `compose`): none of its processes belongs to the service."""

    @property
    def containers_file(self) -> Path:
        """Where that command writes the list of containers once all services are ready."""
        return self.scratch / CONTAINERS_FILE

    @property
    def least_grace_s(self) -> float:
        """The shortest grace period before it is killed, also if the app has ended: containers outlive a command that is
        killed."""
        return COMPOSE_GRACE_S if self.compose else 0.0

    @property
    def uses_scratch(self) -> bool:
        """Whether it has the placeholder `{scratch}`."""
        build = self.build.command if self.build else ()
        return any("{scratch}" in text for text in (*build, *self.command, *self.environment.values()))

    @property
    def build_step(self) -> TargetSpec | None:
        """The build as a target to run before this one; None if there is none."""
        return msgspec.structs.replace(self, command=self.build.command) if self.build else None

    @property
    def name(self) -> str:
        """The folder's name, unless a name was given."""
        return self.given_name or self.folder.name

    @property
    def path(self) -> Path:
        """Its target.toml."""
        return self.folder / "target.toml"

    def resolve(self, given: Mapping[str, Param], named_by: str = "--set") -> dict[str, Param]:
        """All parameters with their values: those given (values, or texts as they were typed), else defaults.

        `named_by`: the file and key, or the option, that gives them. Raises InputError: unknown, or not allowed.
        """
        params = {name: param.default for name, param in self.params.items()}
        for name, value in given.items():
            if name not in self.params:
                raise InputError(f"{named_by}: {self.name} has no parameter `{name}`; {self._hint(name)} ({self._source})")
            parsed = self.params[name].parse(value)
            if parsed is None:
                expected = self.params[name].expected()
                raise InputError(f"{named_by}: {name}: expected {expected}, got `{_as_text(value)[:60]}` ({self._source})")
            params[name] = parsed
        return params

    def _hint(self, name: str) -> str:
        if self.params:
            return nearest(name, self.params)
        return "it has no parameters" if self.declared_in is None else f"for one, its command needs `{{{name}}}`"

    @property
    def _source(self) -> str:
        return self.declared_in or str(self.path)

    def command_line(self, params: Mapping[str, Param], port: int) -> tuple[str, ...]:
        """The command with all placeholders filled. `params` as `resolve` returns them."""
        values = self._values(params, port)
        return tuple(_fill(part, values) for part in self.command)

    def environment_for(self, params: Mapping[str, Param], port: int) -> dict[str, str]:
        """The variables that are added to the app's environment."""
        values = self._values(params, port)
        return {name: _fill(text, values) for name, text in self.environment.items()}

    def _values(self, params: Mapping[str, Param], port: int) -> dict[str, str]:
        ours = {"python": sys.executable, "port": str(port), "folder": str(self.folder), "scratch": str(self.scratch)}
        return {name: _as_text(value) for name, value in params.items()} | ours


def load_spec(folder: Path) -> TargetSpec:
    """Read a target's folder. Raises InputError that names the file, the key and what was expected."""
    path = folder / "target.toml"
    file = load(path, _File)
    for key, wrong in mistakes(file):
        raise InputError(f"{path}: {key}: {wrong}")
    fields = {name: getattr(file, name) for name in file.__struct_fields__}
    return TargetSpec(folder=folder.resolve(), **fields)


def parameters_in(text: str) -> list[str]:
    """Names of the parameters that a command has placeholders for, in order, each once."""
    return list(dict.fromkeys(name for name in _PLACEHOLDER.findall(text) if name not in _RESERVED_NAMES))


def mistakes(file: _File) -> Iterator[tuple[str, str]]:
    """(key, what is wrong) of values that contradict others, in the file's order."""
    yield from _unknown_placeholders(file)
    for name, param in file.params.items():
        yield from _param_mistakes(name, param)


def _unknown_placeholders(file: _File) -> list[tuple[str, str]]:
    texts = [(f"command[{index}]", text) for index, text in enumerate(file.command)]
    texts += [(f"build.command[{index}]", text) for index, text in enumerate(file.build.command if file.build else ())]
    texts += [(f"environment.{name}", text) for name, text in file.environment.items()]
    known = [*_RESERVED_NAMES, *file.params]
    return [
        (key, f"unknown placeholder `{{{name}}}`; {nearest(name, known)}")
        for key, text in texts
        for name in _PLACEHOLDER.findall(text)
        if name not in known
    ]


def _param_mistakes(name: str, param: ParamSpec) -> list[tuple[str, str]]:
    key = f"params.{name}"
    if name in _RESERVED_NAMES:
        return [(key, f"expected another name: `{{{name}}}` is reserved")]
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        return [(key, "expected a name of letters, digits and underscores")]
    is_number = isinstance(param.default, int | float) and not isinstance(param.default, bool)
    if not is_number and (param.min is not None or param.max is not None):
        return [(key, "expected no min and max: its default is not a number")]
    odd = next((choice for choice in param.choices if type(choice) is not type(param.default)), None)
    if odd is not None:
        return [(f"{key}.choices", f"expected {_TYPE_NAMES[type(param.default)]}, as its default is, got `{_as_text(odd)}`")]
    if param.parse(param.default) is None:
        return [(f"{key}.default", f"expected {param.expected()}, got `{_as_text(param.default)}`")]
    return []


def _read(given: Param, kind: type[Any]) -> Param | None:
    if isinstance(given, str) and kind is not str:
        return _read_text(given.strip(), kind)
    if kind is float and type(given) is int:
        return float(given)
    return given if type(given) is kind else None


def _read_text(text: str, kind: type[Any]) -> Param | None:
    if kind is bool:
        return _BOOLEANS.get(text.lower())
    if kind is int:
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None  # fits 64 bits
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def _as_text(value: Param) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
