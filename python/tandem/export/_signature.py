"""Signing the files of saved programs, with Ed25519."""

from __future__ import annotations

import os
import secrets

from tandem import _C
from tandem.export._archive import MANIFEST, SIGNATURE, read_archive, write_archive


def generate_key() -> tuple[bytes, bytes]:
    """A new pair of keys: the secret one, which `sign` takes, and the public one, which `load` requires. 32 bytes each.

    >>> import tandem
    >>> secret, public = tandem.export.generate_key()
    >>> len(secret), len(public), secret != public
    (32, 32, True)
    """
    secret = secrets.token_bytes(32)
    return secret, _C._public_key(secret)


def sign(file: str | os.PathLike[str], secret_key: bytes) -> None:
    """Sign a saved program, in the place of a signature that it has. The file is written anew and replaced as a whole.

    What is signed is the manifest, which has the hashes of all other members: `load(file, require_signature=public)`
    refuses a file of which one byte has changed. Weights beside the file are part of that.

    Args:
        file: the path of a file that `save` wrote.
        secret_key: the first of what `generate_key` gives.

    Raises:
        ValueError: it is no saved program, a member is damaged, or the key has another size than 32 bytes.
        OSError: the file cannot be read or written.

    >>> import tandem, tempfile, os
    >>> secret, public = tandem.export.generate_key()
    >>> path = os.path.join(tempfile.mkdtemp(), "relu.tandem")
    >>> tandem.export.save(tandem.export.export(tandem.relu, (tandem.ones(2),)), path)
    >>> tandem.export.sign(path, secret)
    >>> tandem.export.load(path, require_signature=public).entries
    ['forward']
    """
    members = read_archive(file)
    write_archive(file, {**members, SIGNATURE: _C._sign(members[MANIFEST], secret_key)})
