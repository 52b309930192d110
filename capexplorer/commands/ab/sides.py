"""What `--a` and `--b` name: the service of a profile, a running service, a command, or the repository at a git ref.

In this order: a URL; a profile of that name or path; a git ref of the repository of the working folder (`git:REF` where a profile
has the same name); a command, which has a `{port}` or a space. Users come from `--profile` or `--request`; without them from the
side that is a profile.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec

from ... import paths
from ...addresses import without_userinfo
from ...errors import InputError
from ...toml import nearest, shown
from ..run.arguments import RunArguments
from ..run.profile import PORT
from .arguments import AbArguments

Kind = Literal["url", "profile", "ref", "command"]

GIT = "git:"


class Side(msgspec.Struct, frozen=True):
    """A build, and how it is run."""

    option: str
    """`--a` or `--b`."""
    given: str
    kind: Kind
    run: RunArguments
    folder: Path
    """Folder in which it is run."""
    commit: str = ""
    """Of a git ref."""
    settings: tuple[str, ...] = ()
    """Parameters of this side alone."""

    @property
    def shown(self) -> str:
        """What was given, without a password."""
        return without_userinfo(self.given)

    @property
    def understood(self) -> str:
        """In words: `profile shop, threads=8`."""
        return ", ".join((self._named, *self.settings))

    @property
    def _named(self) -> str:
        match self.kind:
            case "url":
                return f"the running service {self.shown}"
            case "profile":
                return f"profile {self.shown}"
            case "command":
                return f"the command `{self.shown}`"
            case "ref":
                what = f"`{self.run.target_cmd}`" if self.run.target_cmd else f"profile {self.run.profile}"
                return f"git ref {self.given.removeprefix(GIT)} ({self.commit}), {what} there"


@contextlib.contextmanager
def sides(asked: AbArguments) -> Iterator[tuple[Side, Side]]:
    """Both, with worktrees of their refs, which are removed afterwards. Raises InputError."""
    given = {"--a": asked.a, "--b": asked.b}
    kinds = {option: kind_of(option, text) for option, text in given.items()}
    users = _profile_of_users(asked, kinds, given)
    with contextlib.ExitStack() as trees:
        a, b = (_side(option, given[option], kind, users, asked, trees) for option, kind in kinds.items())
        yield a, b


def kind_of(option: str, given: str) -> Kind:
    """What a text names. Raises InputError: nothing that is known here."""
    if "://" in given:
        return "url"
    if not given.startswith(GIT) and (os.path.isfile(given) and given.endswith(".toml") or given in paths.profiles()):
        return "profile"
    if commit_of_ref(given.removeprefix(GIT)):
        return "ref"
    if given.startswith(GIT):
        raise InputError(f"{option}: the repository of this folder has no ref {shown(given.removeprefix(GIT))}")
    if PORT in given or " " in given:
        return "command"
    hint = nearest(given, paths.profiles())
    raise InputError(f"{option}: expected a URL, a profile, a git ref or a command with {PORT}, got {shown(given)}; {hint}")


def _profile_of_users(asked: AbArguments, kinds: dict[str, Kind], given: dict[str, str]) -> str | None:
    """The profile whose users request what is not a profile itself. Raises InputError: there are none, or they are not needed."""
    others = [option for option, kind in kinds.items() if kind != "profile"]
    if asked.profile is not None and asked.requests:
        raise InputError("--request: cannot be combined with --profile, whose users make the requests")
    unused = {"--profile": asked.profile, "--request": asked.requests, "--values": asked.values}
    if not others and (useless := [option for option, value in unused.items() if value]):
        raise InputError(f"{useless[0]}: --a and --b are profiles, which have users of their own")
    if asked.ready is not None and asked.target_cmd is None and "command" not in kinds.values():
        raise InputError("--ready: neither --a nor --b is a command, and there is no --target-cmd")
    if asked.target_cmd is not None and "ref" not in kinds.values():
        raise InputError("--target-cmd: neither --a nor --b is a git ref in which it could run")
    own = [given[option] for option, kind in kinds.items() if kind == "profile"]
    found = asked.profile or (own[0] if own else None)
    missing = [option for option in others if kinds[option] != "url"]
    if missing and found is None and not asked.requests:
        wanted = "which requests do users make? Add --profile PROFILE or --request /PATH"
        raise InputError(f"{missing[0]}: {shown(given[missing[0]])}: {wanted}")
    return found


def _side(option: str, given: str, kind: Kind, users: str | None, asked: AbArguments, trees: contextlib.ExitStack) -> Side:
    own = asked.settings_a if option == "--a" else asked.settings_b
    run = RunArguments(
        profile=given if kind == "profile" else users,
        requests=() if kind == "profile" else asked.requests,
        values=() if kind == "profile" else asked.values,
        settings=asked.settings + own,
        users=0,
        detach=True,
        sessions_dir=paths.new_sessions(asked.sessions_dir).resolve(),
        allow_hosts=asked.allow_hosts,
    )
    match kind:
        case "url":
            run = replace(run, profile=given) if users is None else replace(run, host=given)
        case "command":
            run = replace(run, target_cmd=given, ready=asked.ready)
        case "ref":
            return msgspec.structs.replace(_of_ref(option, given, run, asked, trees), settings=own)
    return Side(option, given, kind, run, Path.cwd(), settings=own)


def _of_ref(option: str, given: str, run: RunArguments, asked: AbArguments, trees: contextlib.ExitStack) -> Side:
    """In a worktree of the ref, in the folder there that corresponds to the working folder."""
    ref = given.removeprefix(GIT)
    commit, top = commit_of_ref(ref), Path(_git("rev-parse", "--show-toplevel"))
    tree = trees.enter_context(_worktree(option, commit))
    folder = tree / Path.cwd().resolve().relative_to(top.resolve())
    if not folder.is_dir():
        raise InputError(f"{option}: this folder, {folder.relative_to(tree)}, is not in the repository at {ref}")
    run = replace(run, label=commit)
    if asked.target_cmd is not None:
        users = None if run.profile is None else str(paths.profile(run.profile).resolve())
        run = replace(run, profile=users, target_cmd=asked.target_cmd, ready=asked.ready)
    elif run.profile is not None:
        run = replace(run, profile=_profile_there(option, run.profile, ref, folder, tree, top))
    else:
        raise InputError(
            f"{option}: what starts the target at {ref}? Add --target-cmd COMMAND, or --profile in place of --request"
        )
    return Side(option, given, "ref", run, folder, commit)


def _profile_there(option: str, profile: str, ref: str, folder: Path, tree: Path, top: Path) -> str:
    """The profile as it is in the worktree."""
    if os.path.isabs(profile):
        with contextlib.suppress(ValueError):
            return str(tree / Path(profile).resolve().relative_to(top.resolve()))
    with contextlib.chdir(folder), contextlib.suppress(InputError):
        if paths.profile(profile).resolve().is_relative_to(tree.resolve()):
            return profile
    there = f"profile {profile} is not in the repository at {ref}"
    raise InputError(f"{option}: {there}: add --target-cmd COMMAND, which starts the target there")


@contextlib.contextmanager
def _worktree(option: str, commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="capexplorer-ab-") as folder:
        tree = Path(folder) / commit
        done = subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", str(tree), commit], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise InputError(f"{option}: git made no worktree of {commit}: {done.stderr.strip().splitlines()[-1]}")
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], capture_output=True, check=False)


def commit_of_ref(ref: str) -> str:
    """The short commit of a ref of the working folder's repository; empty: there is none."""
    return _git("rev-parse", "--short", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}") if ref else ""


def _git(*words: str) -> str:
    """What git prints; empty if it fails, or is not there."""
    try:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
