"""Reads one watched part. This file alone is sent to its machine, which needs nothing but Python 3.6.

It answers each line on its standard input with one line of JSON, a `RawReading`: texts of files of /proc and /sys, and numbers
that only system calls give. It interprets only what it needs to find the processes. It ends with its standard input, or after
SILENT_S without a line, also if the connection is dead and a write blocks.
"""

import base64
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time

SILENT_S = 60
"""Time without a poll after which the reader ends."""
PROCESSES_MOST = 256
THREADS_MOST = 512
WALK_EVERY_S = 3.0
"""Interval of walks over all processes, which find children of threads other than the first."""
WALK_COST_MOST = 0.002
"""CPU use of these walks, in cores: where they cost more they become rarer."""
FIND_EVERY_S = 2.0
"""Interval at which the selected process is searched for while there is none."""
SOCKETS_EVERY_S = 30.0
FIRST_FDS = 64
"""Descriptors of a process that are searched for listening sockets: servers open those early."""


def text_of(path: str) -> "str | None":
    """A file's text, or the names in a folder where the path ends with `/`; None where it cannot be read."""
    try:
        if path.endswith("/"):
            return "\n".join(os.listdir(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        pieces: list[bytes] = []
        while True:
            piece = os.read(descriptor, 65536)
            if not piece:
                return b"".join(pieces).decode("utf-8", "replace")
            pieces.append(piece)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def lines_of(path: str, prefixes: "list[str]") -> "str | None":
    """A file's text; with `prefixes` only the lines that begin with one of them."""
    text = text_of(path)
    if text is None or not prefixes:
        return text
    return "\n".join(line for line in text.splitlines() if line.startswith(tuple(prefixes)))


def numbers_in(path: str) -> "list[int]":
    """Whole numbers in a file: pids."""
    return [int(word) for word in (text_of(path) or "").split() if word.isdigit()]


def names_in(folder: str) -> "list[int]":
    """Names in a folder that are numbers."""
    return [int(name) for name in (text_of(folder) or "").split("\n") if name.isdigit()]


def parents() -> "dict[int, int]":
    """Pid to parent's pid, of all processes."""
    found = {}
    for pid in names_in("/proc/"):
        stat = text_of(f"/proc/{pid}/stat")
        if stat:
            found[pid] = int(stat[stat.rfind(")") + 2 :].split()[1])
    return found


def output_of(*command: str) -> str:
    """What a program prints; empty where it is missing or fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def listening_inodes(port: int) -> "set[str]":
    """Inodes of the sockets that listen on a port."""
    found = set()
    for path in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in (text_of(path) or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found


def sockets_of(pid: int) -> "set[str]":
    """Inodes of the sockets among the first descriptors of a process; none where that is denied."""
    found = set()
    try:
        for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int)[:FIRST_FDS]:
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    except OSError:
        return set()
    return found


def started(pid: int) -> int:
    """When a process began, in clock ticks since boot."""
    stat = text_of(f"/proc/{pid}/stat") or ""
    fields = stat[stat.rfind(")") + 2 :].split()
    return int(fields[19]) if len(fields) > 19 else 1 << 62


def listener_on(port: int) -> "tuple[int | None, str | None]":
    """(pid, None) of the process that listens on a port, the oldest of several; else (None, why there is none)."""
    inodes = listening_inodes(port)
    if not inodes:
        return None, f"nothing listens on port {port}"
    holders = [pid for pid in names_in("/proc/") if inodes & sockets_of(pid)]
    if not holders:
        return None, f"the process that listens on port {port} belongs to another user"
    return min(holders, key=lambda pid: (started(pid), pid)), None


def group_of(folder: str) -> "list[int]":
    """Pids of a control group and of those below it."""
    found = []
    for path, _, files in os.walk(folder):
        if "cgroup.procs" in files:
            found += numbers_in(path + "/cgroup.procs")
    return sorted(found)


def cpu_groups(pid: int) -> "list[str]":
    """Folders of the control groups in which the kernel counts the CPU time of a process."""
    found = []
    for line in (text_of(f"/proc/{pid}/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        names = [controllers, "cpuacct"] if "cpuacct" in controllers.split(",") else [] if controllers else ["", "unified"]
        found += ["/".join(filter(None, ["/sys/fs/cgroup", name, path.strip("/")])) for name in names]
    return [folder for folder in found if cpu_ns_of(folder) is not None]


def cpu_ns_of(folder: str) -> "int | None":
    """CPU time of all processes that a control group has or had."""
    usage = text_of(folder + "/cpuacct.usage")
    if usage is not None and usage.strip().isdigit():
        return int(usage)
    found = [line.split()[1] for line in (lines_of(folder + "/cpu.stat", ["usage_usec "]) or "").splitlines()]
    return int(found[0]) * 1000 if found else None


def roots_of(kind: str, value: str) -> "tuple[list[int], str | None]":
    """(pids, why there are none) of the selected process, port, container, unit or control group."""
    if kind == "pid":
        return ([int(value)], None) if os.path.exists(f"/proc/{value}/stat") else ([], f"no process {value} runs there")
    if kind == "port":
        pid, why = listener_on(int(value))
        return ([] if pid is None else [pid]), why
    if kind == "container":
        for program in ("docker", "podman", "nerdctl"):
            first = output_of(program, "inspect", "-f", "{{.State.Pid}}", value)
            if first.isdigit() and first != "0":
                return [int(first)], None
        return [], f"no container {value} runs there, or this user may not ask"
    if kind == "unit":
        group = output_of("systemctl", "show", "-p", "ControlGroup", "--value", value)
        if not group:
            return [], f"no unit {value} runs there"
        value = group
    folders = ["/sys/fs/cgroup" + part + "/" + value.strip("/") for part in ("", "/cpu", "/unified", "/systemd")]
    pids = next((found for found in map(group_of, folders) if found), [])
    return pids, None if pids else f"no process is in the control group {value}"


class Reader:
    """Answers polls. Each line may change what is read."""

    def __init__(self) -> None:
        self.files: dict[str, list[str]] = {}
        self.selected: tuple[str, str] | None = None
        self.roots: list[int] = []
        self.why: str | None = None
        self.found_at = -FIND_EVERY_S
        self.known: list[int] = []
        self.group = ""
        """Folder of the first process's control group, if no process but the selected ones was in it; else empty."""
        self.is_inside = False
        """Whether this process is in that group."""
        self.grouped_of, self.grouped_at = 0, -1e9
        self.walk_cost, self.walked_at = 0.0, -1e9
        self.sockets: set[str] = set()
        self.sockets_at = -1e9
        self.diag: socket.socket | None = None
        self.diag_request = b""

    def answer(self, line: str) -> str:
        """Apply the settings of a line, and answer it."""
        settings = json.loads(line)
        self.files = settings.get("files") or self.files
        self.selected = settings.get("select") or self.selected
        if settings.get("diag"):
            self.diag_request = base64.b64decode(settings["diag"])
        return json.dumps(self.reading(bool(settings.get("all"))), separators=(",", ":"))

    def reading(self, wants_all: bool) -> "dict[str, object]":
        """One reading."""
        pids = self.family()
        files = {path: lines_of(path, prefixes) for path, prefixes in self.files.items()}
        numbers: dict[str, int] = {}
        threads = THREADS_MOST
        for pid in pids:
            threads -= self.process(pid, files, numbers, threads)
        if pids:
            self.of_first(pids[0], files, numbers)
            self.of_group(numbers)
        everything = [text_of(f"/proc/{pid}/stat") or "" for pid in names_in("/proc/")] if wants_all else []
        own = resource.getrusage(resource.RUSAGE_SELF)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "wall": time.time(), "boot": now(), "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
            "cpus": os.cpu_count(), "ticks": os.sysconf("SC_CLK_TCK"), "page": os.sysconf("SC_PAGE_SIZE"), "pid": os.getpid(),
            "pids": pids, "why": self.why, "whole": threads >= 0 and len(pids) < PROCESSES_MOST,
            "files": files, "numbers": numbers, "all": everything, "listeners": self.listeners(pids, files),
            "sockets": sorted(map(int, self.sockets)),
        }  # fmt: skip

    def family(self) -> "list[int]":
        """The selected processes and their descendants, parents before children, then others of their own control group."""
        if self.selected is None:
            return []
        self.roots = [pid for pid in self.roots if os.path.exists(f"/proc/{pid}")]
        is_group = self.selected[0] in ("cgroup", "unit")
        if (not self.roots or is_group) and now() - self.found_at >= (1.0 if is_group else FIND_EVERY_S):
            self.found_at = now()
            self.roots, self.why = roots_of(*self.selected)
            self.known = []
            self.sockets_at = -1e9
        found: list[int] = []
        queue = list(self.roots)
        walked = self.walk() if self.roots else {}
        queue += self.known
        while queue and len(found) < PROCESSES_MOST:
            pid = queue.pop(0)
            if pid not in found and os.path.exists(f"/proc/{pid}"):
                found.append(pid)
                queue += numbers_in(f"/proc/{pid}/task/{pid}/children") + walked.get(pid, [])
        if found:
            self.find_group(found)
            found += [pid for pid in self.others() if pid not in found][: PROCESSES_MOST - len(found)]
        self.known = found
        if found and now() - self.sockets_at >= SOCKETS_EVERY_S:
            self.sockets_at = now()
            self.sockets = set().union(*map(sockets_of, found[:4]))
        return found

    def find_group(self, family: "list[int]") -> None:
        """Find the control group that no other process is in. Whatever appears in it later was started by these processes, even
        if its parent has ended, and the kernel counts its CPU time, even if nobody waits for it.
        """
        if self.grouped_of != family[0]:
            self.group, self.grouped_of, self.grouped_at = "", family[0], -1e9
        if not self.group and now() - self.grouped_at >= WALK_EVERY_S:
            self.grouped_at = now()
            known = {*family, os.getpid(), os.getppid()}
            own = (folder for folder in cpu_groups(family[0]) if set(numbers_in(folder + "/cgroup.procs")) <= known)
            self.group = next((folder for folder in own if set(group_of(folder)) <= known), "")
            self.is_inside = os.getpid() in group_of(self.group)

    def others(self) -> "list[int]":
        """The processes of their own control group, without this one and the shell that may have started it."""
        return [pid for pid in group_of(self.group) if pid not in (os.getpid(), os.getppid())] if self.group else []

    def of_group(self, numbers: "dict[str, int]") -> None:
        """Read the CPU time of the processes' own control group into `numbers`, without that of this process."""
        used = cpu_ns_of(self.group) if self.group else None
        if used is not None:
            numbers["group_cpu_ns"] = used - (int(time.process_time() * 1e9) if self.is_inside else 0)

    def walk(self) -> "dict[int, list[int]]":
        """Children by parent, by a walk over all processes if one is due, else empty: with thousands of processes it costs
        much."""
        every_s = max(WALK_EVERY_S, self.walk_cost / WALK_COST_MOST)
        if now() - self.walked_at < every_s:
            return {}
        began, self.walked_at = time.process_time(), now()
        found: dict[int, list[int]] = {}
        for pid, parent in parents().items():
            found.setdefault(parent, []).append(pid)
        self.walk_cost = time.process_time() - began
        return found

    def process(self, pid: int, files: "dict[str, str | None]", numbers: "dict[str, int]", threads: int) -> int:
        """Read one process into `files` and `numbers`; returns how many threads it has."""
        base = f"/proc/{pid}/"
        for name in ("stat", "io"):
            files[base + name] = text_of(base + name)
        tids = names_in(base + "task/")
        for tid in tids[: max(0, threads)]:
            path = f"{base}task/{tid}/schedstat"
            files[path] = text_of(path)
        try:
            numbers[f"cpu_ns:{pid}"] = int(time.clock_gettime((~pid << 3) | 2) * 1e9)
        except OSError:
            pass
        try:
            numbers[f"fds:{pid}"] = os.stat(base + "fd").st_size or len(os.listdir(base + "fd"))
        except OSError:
            pass
        try:
            limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]
            numbers[f"fds_limit:{pid}"] = limit if limit != resource.RLIM_INFINITY else -1
        except OSError:
            files[base + "limits"] = lines_of(base + "limits", ["Max open files"])
        return len(tids)

    def of_first(self, pid: int, files: "dict[str, str | None]", numbers: "dict[str, int]") -> None:
        """Read into `files` and `numbers` what is read of the first process alone."""
        base = f"/proc/{pid}/"
        files[base + "cgroup"] = text_of(base + "cgroup")
        try:
            files[base + "exe"] = os.readlink(base + "exe")
            room = os.statvfs(base + "cwd")
            numbers["disk_free_bytes"] = room.f_bavail * room.f_frsize
        except OSError:
            pass
        try:
            numbers["cpus_allowed"] = len(os.sched_getaffinity(pid))
        except OSError:
            pass

    def listeners(self, pids: "list[int]", files: "dict[str, str | None]") -> "list[str]":
        """The kernel's rows of sockets that listen, in the network namespace of the first process."""
        if not pids or not self.diag_request:
            return []
        if not is_in_our_network(pids[0]):
            path = f"/proc/{pids[0]}/net/tcp"
            for each in (path, path + "6"):
                rows = (text_of(each) or "").splitlines()
                files[each] = "\n".join(row for row in rows[1:] if row.split(None, 5)[3:4] == ["0A"])
            return []
        return self.dump()

    def dump(self) -> "list[str]":
        """The pieces of a sock_diag dump."""
        try:
            if self.diag is None:
                self.diag = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 4)
                self.diag.settimeout(1.0)
            self.diag.send(self.diag_request)
            pieces = []
            while True:
                piece = self.diag.recv(65536)
                pieces.append(base64.b64encode(piece).decode())
                kind = int.from_bytes(piece[4:6], sys.byteorder)
                if kind in (2, 3) or len(pieces) > 64 or int.from_bytes(piece[-16:-14], sys.byteorder) == 3:
                    return pieces
        except OSError:
            self.diag = None
            return []


def is_in_our_network(pid: int) -> bool:
    """Whether a process is in our network namespace; assumed to be true where access is denied."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return True


def now() -> float:
    """Seconds since boot."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def main() -> None:
    """Answer lines until there are no more."""
    signal.alarm(SILENT_S)
    reader, rest = Reader(), b""
    while True:
        piece = os.read(0, 65536)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        signal.alarm(SILENT_S)
        for line in lines:
            answer = (reader.answer(line.decode()) + "\n").encode()
            while answer:
                answer = answer[os.write(1, answer) :]


main()
