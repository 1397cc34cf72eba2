"""`tandem.hub`: models of local repositories, and state dicts from the cache or the network."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse

from tandem._stand_in import fail

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_dir: str | None = None
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of what was downloaded: that of `set_dir`, or `hub` in $TORCH_HOME (~/.cache/torch).

    >>> import tandem
    >>> tandem.hub.get_dir().endswith("hub")
    True
    """
    return os.path.join(_get_torch_home(), "hub") if _dir is None else _dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of what was downloaded.

    >>> import tandem
    >>> before = tandem.hub.get_dir()
    >>> tandem.hub.set_dir("models")
    >>> tandem.hub.get_dir()
    'models'
    >>> tandem.hub.set_dir(before)
    """
    global _dir
    _dir = os.path.expanduser(d)


def _hubconf(repo_or_dir: Any, source: str) -> ModuleType:
    if source != "local":
        fail("hub.load(source='github')")
    path = os.path.join(os.path.expanduser(repo_or_dir), "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise FileNotFoundError(f"hub: there is no {path}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(repo_or_dir))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(repo_or_dir))
    missing = [n for n in getattr(module, "dependencies", []) if importlib.util.find_spec(n) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: ModuleType, model: str) -> Any:
    entry = getattr(module, model, None)
    if not callable(entry) or model.startswith("_"):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry


def load(repo_or_dir: Any, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """What the function `model` of a folder's `hubconf.py` returns for the arguments, with `source="local"`.

    Raises NotImplementedError for a repository on the network, RuntimeError for a model that is not there.

    >>> import tandem, pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> text = "def double(x): return 2 * x"
    >>> pathlib.Path(folder, "hubconf.py").write_text(text) == len(text)
    True
    >>> tandem.hub.load(folder, "double", 3, source="local")
    6
    """
    for known in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(known, None)
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def list(github: Any, force_reload: bool = False, source: str = "github", **ignored: Any) -> Any:  # noqa: A001
    """The names of the models in a folder's `hubconf.py`, with `source="local"`.

    >>> import tandem
    >>> tandem.hub.list("owner/name")
    Traceback (most recent call last):
    NotImplementedError: tandem.hub.load(source='github') is not part of Tandem. Use load and the path of a file that \
was downloaded instead
    """
    module = _hubconf(github, source)
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(github: Any, model: str, force_reload: bool = False, source: str = "github", **ignored: Any) -> Any:  # noqa: A001
    """The docstring of a model in a folder's `hubconf.py`, with `source="local"`.

    >>> import tandem, pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(pathlib.Path(folder, "hubconf.py"), "w") as f: print("def double(x): 'Twice.'", file=f)
    >>> tandem.hub.help(folder, "double", source="local"), tandem.hub.list(folder, source="local")
    ('Twice.', ['double'])
    """
    return _entry(_hubconf(github, source), model).__doc__


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Write what a URL gives to the file `dst`; RuntimeError if its SHA-256 does not begin with `hash_prefix`.

    >>> import tandem, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with open(folder / "a", "w") as f: print("text", file=f)
    >>> tandem.hub.download_url_to_file((folder / "a").as_uri(), str(folder / "b"))
    >>> (folder / "b").read_text()
    'text\\n'
    """
    target = Path(os.path.expanduser(dst))
    digest = hashlib.sha256()
    with (
        urllib.request.urlopen(url) as source,
        tempfile.NamedTemporaryFile(delete=False, dir=target.parent, suffix=".partial") as file,
    ):
        try:
            while block := source.read(1 << 20):
                digest.update(block)
                file.write(block)
            file.close()
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()[: len(hash_prefix)]}")'
                )
            shutil.move(file.name, target)
        finally:
            Path(file.name).unlink(missing_ok=True)


def tqdm(*args: Any, **kwargs: Any) -> Any:
    """The bar of the package tqdm, which has to be installed for it."""
    from tqdm import tqdm as bar

    return bar(*args, **kwargs)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What `tandem.load` gives of a file in `model_dir` (`checkpoints` in `get_dir()`), downloaded if it is not there.

    With `check_hash` the name ends in `-` and the first digits of its SHA-256.

    >>> import tandem, pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tandem.save({"weight": tandem.ones(2)}, pathlib.Path(folder, "model.pt"))
    >>> tandem.hub.load_state_dict_from_url("https://example.org/model.pt", model_dir=folder)
    {'weight': tensor([1., 1.])}
    """
    from tandem.serialization import load as load_file

    folder = Path(os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir)
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = folder / name
    if not path.exists():
        digits = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(path), digits.group(1) if digits else None, progress)
    return load_file(str(path), map_location=map_location, weights_only=weights_only)
