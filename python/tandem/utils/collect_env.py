"""What a report of a bug should say of the machine: versions, processor, GPUs. `python -m tandem.utils.collect_env`."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import tandem

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]

# Distributions that matter for a report.
_PACKAGES = re.compile("tandem|torch|numpy|scipy|nvidia|cuda|triton|onnx|mypy|jax", re.IGNORECASE)


class SystemEnv(NamedTuple):
    """What `get_env_info` finds; None where there is no such thing.

    >>> import tandem
    >>> tandem.utils.collect_env.SystemEnv._fields[:3]
    ('torch_version', 'is_debug_build', 'cuda_compiled_version')
    """

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    nvidia_gpu_models: str | None
    cpu_info: str | None
    pip_packages: str


def _processor() -> str | None:
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*:\s*(.*)$", info.read_text(), re.MULTILINE) if info.exists() else []
    return f"{os.cpu_count()} x {names[0] if names else platform.processor() or platform.machine()}"


def get_env_info() -> SystemEnv:
    """The versions and the hardware of this process."""
    gpus = [tandem.cuda.get_device_name(i) for i in range(tandem.cuda.device_count())]
    installed = {f"{d.metadata['Name']}=={d.version}" for d in metadata.distributions() if d.metadata["Name"]}
    return SystemEnv(
        torch_version=tandem.__version__,
        is_debug_build="False",
        cuda_compiled_version=tandem.version.cuda,
        os=platform.platform(),
        libc_version="-".join(platform.libc_ver()),
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available=str(tandem.cuda.is_available()),
        nvidia_gpu_models="\n".join(f"GPU {i}: {name}" for i, name in enumerate(gpus)) or None,
        cpu_info=_processor(),
        pip_packages="\n".join(sorted(p for p in installed if _PACKAGES.search(p))),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """What was found, as text."""
    told = {
        "Tandem version": envinfo.torch_version,
        "CUDA used to build": envinfo.cuda_compiled_version,
        "OS": envinfo.os,
        "Libc version": envinfo.libc_version,
        "Python version": envinfo.python_version,
        "Python platform": envinfo.python_platform,
        "Is CUDA available": envinfo.is_cuda_available,
        "GPU models": envinfo.nvidia_gpu_models,
        "CPU": envinfo.cpu_info,
    }
    lines = [f"{name}: {value}" for name, value in told.items()]
    return "\n".join([*lines, "", "Versions of relevant libraries:", envinfo.pip_packages])


def get_pretty_env_info() -> str:
    """The versions and the hardware of this process, as text.

    >>> import tandem
    >>> tandem.utils.collect_env.get_pretty_env_info().splitlines()[0].startswith("Tandem version: ")
    True
    """
    return pretty_str(get_env_info())


def main() -> None:
    """Write what a report should say."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
