"""Services that wait in one known function until they are ended, each with its process id. No request is needed to see it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.kit.programs import find

PYTHON = """
import os, threading
def waits():
    threading.Event().wait()
print(os.getpid(), flush=True)
waits()
"""
GO = """package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"sync"
)

func waits() {
	var lock sync.Mutex
	lock.Lock()
	lock.Lock()
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go waits()
	fmt.Println(os.Getpid())
	http.Serve(listener, nil)
}
"""
JAVA = """
public class Waiting {
    static synchronized void waits() throws InterruptedException {
        System.out.println(ProcessHandle.current().pid());
        Thread.sleep(1_000_000_000L);
    }
    public static void main(String[] words) throws InterruptedException { waits(); }
}
"""
NODE = """
const fs = require("fs");
function waits() { fs.read(0, Buffer.alloc(1), 0, 1, null, () => waits()); }
function again() { waits(); }
setInterval(again, 5);
console.log(process.pid);
"""
C = """
#include <stdio.h>
#include <unistd.h>
static volatile int held = 1;
void waits(void) { while (held) { } }
int main(void) { printf("%d\\n", getpid()); fflush(stdout); waits(); return 0; }
"""


def command(runtime: str, folder: Path) -> list[str]:
    """Words that start the waiting service of a runtime."""
    match runtime:
        case "python":
            return [os.path.realpath(sys.executable), written(folder / "waiting.py", PYTHON)]
        case "go":
            source, program = written(folder / "waiting.go", GO), str(folder / "waiting")
            subprocess.run([find("go") or "go", "build", "-o", program, source], check=True, cwd=folder)
            return [program]
        case "jvm":
            subprocess.run(["javac", "-d", str(folder), written(folder / "Waiting.java", JAVA)], check=True)
            return ["java", "-Xshare:auto", "-cp", str(folder), "Waiting"]
        case "node":
            return ["node", written(folder / "waiting.js", NODE)]
        case _:
            source, program = written(folder / "waiting.c", C), str(folder / "waiting")
            subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", program, source], check=True)
            return [program]


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@contextmanager
def waiting(runtime: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The service, once it has said its process id, which is that of the process."""
    words = command(runtime, folder)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            assert int(process.stdout.readline()) == process.pid
            yield process
        finally:
            process.kill()
            Path(f"/tmp/.java_pid{process.pid}").unlink(missing_ok=True)  # a JVM removes it only if it ends by itself
