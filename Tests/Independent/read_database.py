#!/usr/bin/env python3
"""Decrypts a database in the format gcm1, from its published description and nothing else.

The description is PageFormat.md in the documentation of the library. This program shares no code with the
library, so that a slip in one of them shows as a disagreement.

    read_database.py DATABASE --key-hex-fd N | --passphrase-fd N [--header]

Writes the plain SQLite database (or with --header a JSON object) to stdout and exits 0. What does not open makes
one line on stderr, nothing on stdout, and exit code 1. A journal or a WAL beside the database is not looked at.
"""

import argparse
import json
import os
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PAGE = 4096
MAGIC = b"COFFERG1"
PLAIN = b"SQLite format 3\0"


class Refused(Exception):
    """The database is not what the description says, or this is not its key."""


def header(first):
    """What the clear bytes say."""
    if len(first) < 32 or first[:8] != MAGIC:
        raise Refused("This is no gcm1 database.")
    if first[8] == 1:
        return {"version": 1, "size": 16, "reserve": first[9], "passes": 3, "lanes": 1, "memoryKiB": 65536,
                "salt": first[10:16]}
    if first[8] != 2:
        raise Refused(f"The header has version {first[8]}.")
    return {"version": 2, "size": 32, "reserve": first[9], "passes": first[10], "lanes": first[11],
            "memoryKiB": int.from_bytes(first[12:16], "big"), "salt": first[16:32]}


def stretched(passphrase, first, head):
    if head["passes"] == 0:
        raise Refused("The database has a key and no passphrase.")
    salt = b"\0" + first[:9] + head["salt"] if head["version"] == 1 else head["salt"]
    return Argon2id(salt=salt, length=32, iterations=head["passes"], lanes=head["lanes"],
                    memory_cost=head["memoryKiB"]).derive(passphrase)


def expand(key, label, context, count):
    return HKDF(hashes.SHA256(), count, None, label + context).derive(key)


def page_cipher(key, prefix):
    """XAES-256-GCM's derived key, for a nonce that begins with these 12 bytes."""
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    zero = int.from_bytes(block.update(bytes(16)), "big")
    mask = (zero << 1 & (1 << 128) - 1) ^ (0x87 if zero >> 127 else 0)
    halves = [int.from_bytes(bytes([0, number, 0x58, 0]) + prefix, "big") ^ mask for number in (1, 2)]
    return AESGCM(b"".join(block.update(half.to_bytes(16, "big")) for half in halves))


def opened(page, number, keys, head):
    pages, identity, clear = keys
    end = PAGE - head["reserve"]
    nonce, tag, rest = page[end:end + 24], page[end + 24:end + 40], page[end + 40:]
    start = len(clear) if number == 1 else 0
    if any(rest) or page[:start] != clear[:start]:
        raise Refused(f"Page {number} is not authentic.")
    data = number.to_bytes(4, "big") + identity + bytes([head["version"]]) + clear[:start]
    try:
        body = page_cipher(pages, nonce[:12]).decrypt(nonce[12:], page[start:end] + tag, data)
    except InvalidTag:
        raise Refused(f"Page {number} is not authentic.") from None
    if number > 1:
        return body + bytes(head["reserve"])
    # The clear bytes stand for SQLite's magic and for as many zeros of its header, from byte 72 on, as fit.
    return PLAIN + body[:56] + bytes(start - 16) + body[56:] + bytes(head["reserve"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("database")
    parser.add_argument("--key-hex-fd", type=int)
    parser.add_argument("--passphrase-fd", type=int)
    parser.add_argument("--header", action="store_true")
    options = parser.parse_args()
    with open(options.database, "rb") as file:
        data = file.read()
    try:
        if len(data) == 0 or len(data) % PAGE:
            raise Refused("The size is no multiple of a page's.")
        head = header(data)
        clear = data[:head["size"]]
        if options.header:
            print(json.dumps(head | {"salt": head["salt"].hex()}))
            return 0
        if options.passphrase_fd is not None:
            secret = os.read(options.passphrase_fd, 4096).split(b"\n")[0]
            secret = stretched(secret, data, head)
        else:
            secret = bytes.fromhex(os.read(options.key_hex_fd, 4096).decode())
        keys = (expand(secret, b"coffer/database-pages/v1", clear[10:], 32),
                expand(secret, b"coffer/database-id/v1", clear[10:], 16), clear)
        pages = [opened(data[place:place + PAGE], place // PAGE + 1, keys, head)
                 for place in range(0, len(data), PAGE)]
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(b"".join(pages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
