"""Starts nginx in place of this process, with a rate limit on one page; nginx writes only into FOLDER."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    options = _options()
    nginx = shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))
    if nginx is None:
        sys.exit("nginx is not installed (Debian: apt-get install nginx-light)")
    folder: Path = options.folder.resolve()
    (folder / "www").mkdir(parents=True, exist_ok=True)
    (folder / "www" / "work").write_text("{}")
    configuration = folder / "nginx.conf"
    configuration.write_text(
        Path(__file__)
        .with_name("nginx.template")
        .read_text()
        .format(
            user="user root;\n" if os.geteuid() == 0 else "",  # else its worker becomes `nobody`, who may not read the folder
            folder=folder,
            port=options.port,
            rate=options.rate,
            burst=options.burst,
            beyond="" if options.beyond == "delay" else f" nodelay; limit_req_status {options.beyond}",
        )
    )
    os.execv(nginx, [nginx, "-e", "stderr", "-p", str(folder), "-c", str(configuration)])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--burst", type=int, required=True)
    parser.add_argument("--beyond", default="delay")
    return parser.parse_args()


if __name__ == "__main__":
    main()
