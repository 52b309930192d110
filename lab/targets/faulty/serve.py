"""A service with one fault, that of --act, for the fault matrix. Loopback only."""

from __future__ import annotations

import argparse
import os
import ssl
import threading
from pathlib import Path

from acts import crashed, named
from served import SERVED
from wire import accept_for_ever, listen


def main() -> None:
    options = _options()
    for folder in filter(None, options.cgroup.split(":")):
        (Path(folder) / "cgroup.procs").write_text(str(os.getpid()))
    if options.act in SERVED:
        SERVED[options.act](options.port, options.backlog, options.amount)
    answer = named(options.act, options.after, options.amount)
    listener = listen(options.port, options.backlog)
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate)
        listener = context.wrap_socket(listener, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=accept_for_ever, args=(listener, answer), daemon=True).start()
    crashed.wait()
    raise RuntimeError("the index of orders is gone")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--act", default="ok")
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--amount", type=int, default=0)
    parser.add_argument("--backlog", type=int, default=1024)
    parser.add_argument("--cgroup", default="")
    parser.add_argument("--certificate", help="speak TLS with the key and certificate in this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
