# capexplorer in a container: docs/containers.md says how to run it, and what it can read there.

FROM python:3.13-slim-trixie AS build
# Bytecode of the standard library too, which the base image lacks, in a folder that is copied: users of the image cannot write it.
ENV PYTHONPYCACHEPREFIX=/opt/bytecode
WORKDIR /src
COPY requirements.lock .
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
RUN pip install --no-cache-dir --constraint requirements.lock hatchling
COPY . .
RUN python -m hatchling build -t wheel
# Not `grpc`, `mcp`, `postgres` and `stacks`, 73 MB; the last needs root and CAP_SYS_PTRACE.
ARG EXTRAS=ci,dns,metrics,mqtt,redis,samples
RUN python -m venv --without-pip /opt/capexplorer \
 && pip --python /opt/capexplorer/bin/python install --no-cache-dir --no-compile --constraint requirements.lock \
      "$(echo dist/capexplorer-*.whl)[$EXTRAS]" \
 && cd /opt/capexplorer/lib/python3.13/site-packages \
 && find . \( -type d \( -name test -o -name tests \) -o -name '*.py[ix]' \) -prune -exec rm -r {} + \
 && find . -name '*.cpython-*.so' -exec strip --strip-unneeded {} +
# Proves that what is installed can run, and leaves bytecode of all that a run imports; bytecode of everything would be 45 MB more.
RUN rm -rf "$PYTHONPYCACHEPREFIX" \
 && cd /tmp && /opt/capexplorer/bin/capexplorer run mixed --headless --plan 2:8s \
 && /opt/capexplorer/bin/python -c 'import capexplorer.tui.app'

FROM python:3.13-slim-trixie
# One folder for sessions, open to all: the user may be any, such as that of the service (`--user`).
RUN install -d -m 1777 /data && install -d /work && useradd --uid 10001 --home-dir /data --no-create-home capexplorer
COPY --from=build /opt/bytecode /opt/bytecode
COPY --from=build /opt/capexplorer /opt/capexplorer
ENV PATH=/opt/capexplorer/bin:$PATH LANG=C.UTF-8 PYTHONPYCACHEPREFIX=/opt/bytecode HOME=/data XDG_DATA_HOME=/data
USER 10001
WORKDIR /work
VOLUME /data
ENTRYPOINT ["capexplorer"]
LABEL org.opencontainers.image.title="capexplorer" \
      org.opencontainers.image.description="Explore the capacity of a service by hand, from a terminal" \
      org.opencontainers.image.licenses="MIT"
