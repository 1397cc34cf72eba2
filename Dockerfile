# Tandem without a Debian machine: docker build --target python -t tandem .
# scripts/try-dockerfile.sh runs the same steps without Docker, and says how large the stages are.

# Builds the wheel and the loader of saved programs.
FROM debian:bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git make g++
WORKDIR /src
COPY . .
RUN make wheel PYTHONS=/usr/bin/python3.11
RUN cmake --build build/packages/build --target tandem_loader tandem_archive && \
    cmake --install build/packages/build --component runtime --prefix /opt/tandem

# Python with `import tandem`.
FROM debian:bookworm-slim AS python
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/wheel/ /tmp/wheel/
RUN python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir /tmp/wheel/*.whl && rm -rf /tmp/wheel
ENV PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["python3"]

# The loader alone, for an image that a C or C++ program and its .tandem file are added to.
FROM debian:bookworm-slim AS deploy
COPY --from=build /opt/tandem/lib/libtandem_runtime.so* /usr/local/lib/
RUN ldconfig
