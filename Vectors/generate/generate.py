#!/usr/bin/env python3
"""Writes the vector files, the manifest and the README; with --check, compares them with what is there.

    python3 Vectors/generate/generate.py [--check]

The same bytes come out every time. Any disagreement between implementations, or with a published value, stops
it.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True

from cases import (
    age,
    block_mac,
    cbc,
    cbc_hmac,
    chacha,
    container,
    documented_cbc,
    documented_key,
    documented_passphrase,
    ed25519,
    gcm,
    hkdf,
    jose,
    jose_cbc,
    keywrap,
    mac,
    order,
    pbes2,
    pbkdf2,
    policy,
    recovery,
    signatures,
    siv,
    xaes,
)
from external import manifest
from readme import readme

FOLDER = Path(__file__).resolve().parent.parent
FAMILIES = (
    documented_key,
    documented_passphrase,
    documented_cbc,
    cbc_hmac,
    jose_cbc,
    cbc,
    gcm,
    chacha,
    xaes,
    siv,
    keywrap,
    mac,
    block_mac,
    hkdf,
    pbkdf2,
    pbes2,
    ed25519,
    signatures,
    jose,
    container,
    order,
    policy,
    recovery,
    age,
)


def outputs():
    """Every file to be written, by name."""
    files = [file for family in FAMILIES for file in family.files()]
    texts = {file.name: file.text() for file in files}
    assert len(texts) == len(files)
    texts["manifest.json"] = manifest(files)
    texts["README.md"] = readme(files)
    return texts


def differences(texts):
    for name, text in texts.items():
        path = FOLDER / name
        if not path.exists():
            yield f"{name} is missing"
        elif path.read_bytes() != text.encode():
            yield f"{name} differs"
    for path in sorted(FOLDER.glob("*.json")):
        if path.name not in texts:
            yield f"{path.name} is not one of ours"


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 64
    if not __debug__:
        print("Run without -O: the checks are assertions.", file=sys.stderr)
        return 1
    texts = outputs()
    if arguments:
        found = list(differences(texts))
        print("\n".join(found) or f"{len(texts)} files are as generated")
        return 1 if found else 0
    for name, text in texts.items():
        (FOLDER / name).write_bytes(text.encode())
        print(f"{name}: {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
