#!/usr/bin/env bash
# PyTorch, JAX and ONNX Runtime in an environment of their own, build/bench-env, to compare with. What cannot be had is left out.
set -uo pipefail
cd "$(dirname "$0")/.."
env=build/bench-env
[ -x $env/bin/python ] || "$(readlink -f .venv/bin/python)" -m venv $env
for need in torch==2.13.0 jax onnx onnxscript onnxruntime; do
  $env/bin/python -c "import ${need%%=*}" 2>/dev/null && continue
  $env/bin/python -m pip install -qq --disable-pip-version-check "$need" numpy setuptools ||
    echo "$need could not be installed: the table will be without it" >&2
done
