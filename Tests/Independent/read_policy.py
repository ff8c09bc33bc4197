#!/usr/bin/env python3
"""Reads and judges a signed policy, from its published description and nothing else.

The description is in Formats.md in the documentation of the library, with which this program shares no code. The
document in the policy is not looked at.

    read_policy.py POLICY --key HEX [--key HEX …] --vault HEX [--device HEX] [--last N] [--now SECONDS]

Prints a JSON object and exits 0, or one line with the code of the refusal on stderr and exit code 1.
"""

import argparse
import json
import struct
import sys
import time
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from read_order import SMALL_ORDER, YEAR_10000, Refused, need

MAGIC = b"COFFERJ1"
HEAD = struct.Struct(">8sHBB4s16sQQQ32sI")
SIGNATURE = 64
LONGEST_DOCUMENT = 65536
LONGEST = HEAD.size + LONGEST_DOCUMENT + SIGNATURE
TARGETS = {1: "vault", 2: "device"}
FORMATS = {1: "plist", 2: "json"}


class Vault(NamedTuple):
    """What the receiver knows."""

    keys: tuple
    vault: bytes
    device: bytes
    last: int
    now: int


class Policy(NamedTuple):
    """What a policy says."""

    target: int
    format: int
    ident: bytes
    counter: int
    issued: int
    expires: int
    signer: bytes
    document: bytes


def parse(data):
    need(len(data) <= LONGEST, "orderTooLong")
    need(data[:8] == MAGIC and len(data) > HEAD.size + SIGNATURE, "orderMalformed")
    version = int.from_bytes(data[8:10], "big")
    need(version <= 1, "orderUnsupportedVersion")
    need(version == 1, "orderMalformed")
    _, _, target, form, zero, ident, counter, issued, expires, signer, size = HEAD.unpack(data[: HEAD.size])
    document = data[HEAD.size : -SIGNATURE]
    right = (
        target in TARGETS
        and form in FORMATS
        and zero == bytes(4)
        and issued < expires < YEAR_10000
        and size == len(document)
    )
    need(right, "orderMalformed")
    return Policy(target, form, ident, counter, issued, expires, signer, document)


def judge(data, vault):
    policy = parse(data)
    need(policy.signer in vault.keys, "orderUnknownKey")
    need(policy.signer[:31] not in SMALL_ORDER, "orderBadSignature")
    try:
        Ed25519PublicKey.from_public_bytes(policy.signer).verify(data[-SIGNATURE:], data[:-SIGNATURE])
    except (ValueError, InvalidSignature):
        raise Refused("orderBadSignature") from None
    need(policy.ident == (vault.vault if policy.target == 1 else vault.device), "orderForeign")
    need(0 < policy.counter < 2**64 - 1, "orderCounterOutOfRange")
    need(policy.counter > vault.last, "orderReplayed")
    need(policy.issued <= vault.now, "orderNotYetValid")
    need(vault.now < policy.expires, "orderExpired")
    return policy


def main():
    parser = argparse.ArgumentParser(description="Reads and judges a signed policy.")
    parser.add_argument("policy")
    parser.add_argument("--key", action="append", required=True, type=bytes.fromhex)
    parser.add_argument("--vault", required=True, type=lambda text: bytes.fromhex(text.replace("-", "")))
    parser.add_argument("--device", default=b"", type=bytes.fromhex)
    parser.add_argument("--last", default=0, type=int)
    parser.add_argument("--now", default=None, type=int)
    given = parser.parse_args()
    now = int(time.time()) if given.now is None else given.now
    vault = Vault(tuple(given.key), given.vault, given.device, given.last, now)
    try:
        with open(given.policy, "rb") as file:
            policy = judge(file.read(LONGEST + 1), vault)
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 1
    shown = {
        "target": TARGETS[policy.target],
        "format": FORMATS[policy.format],
        "counter": str(policy.counter),
        "issued": policy.issued,
        "expires": policy.expires,
        "signer": policy.signer.hex(),
        "document": policy.document.decode("utf-8", "replace"),
    }
    print(json.dumps(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
