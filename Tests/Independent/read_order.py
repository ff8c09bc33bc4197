#!/usr/bin/env python3
"""Reads and judges a signed order, from its published description and nothing else.

The description is in Formats.md in the documentation of the library, with which this program shares no code.

    read_order.py ORDER --key HEX [--key HEX …] --vault HEX [--device HEX] [--last N] [--now SECONDS]

Prints a JSON object and exits 0, or one line with the code of the refusal on stderr and exit code 1.
"""

import argparse
import json
import struct
import sys
import time
import unicodedata
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAGIC = b"COFFERO1"
HEAD = struct.Struct(">8sHBBB3s16sQQQ32s")
LONGEST = 1436
YEAR_10000 = 253402300800
ACTIONS = {1: "wipe", 2: "contact", 3: "pin", 4: "unpin"}
SCOPES = {1: "all", 2: "user", 3: "tokens"}
# Keys of small order sign nothing: y is 0, 1, -1 or one of two more. Without the byte that has the sign of x.
SMALL_ORDER = {
    bytes.fromhex(text)
    for text in (
        "00" * 31,
        "01" + "00" * 30,
        "ec" + "ff" * 30,
        "ed" + "ff" * 30,
        "ee" + "ff" * 30,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03",
    )
}


class Refused(Exception):
    """The code of the refusal."""


class Vault(NamedTuple):
    """What the receiver knows."""

    keys: tuple
    vault: bytes
    device: bytes
    last_order: int
    last_contact: int
    now: int


class Order(NamedTuple):
    """What an order says."""

    action: int
    scope: int
    target: int
    ident: bytes
    counter: int
    issued: int
    expires: int
    signer: bytes
    subject: bytes
    reason: bytes


def need(condition, code):
    if not condition:
        raise Refused(code)


def plain_text(data):
    try:
        text = data.decode("utf-8", "strict")
    except UnicodeDecodeError:
        return False
    return not any(unicodedata.category(character) == "Cc" for character in text)


def fields(body):
    """Subject and reason: each a length of two bytes and so many bytes, and nothing behind them."""
    found = []
    for _ in range(2):
        need(len(body) >= 2, "orderMalformed")
        size = int.from_bytes(body[:2], "big")
        need(len(body) >= 2 + size, "orderMalformed")
        found.append(body[2 : 2 + size])
        body = body[2 + size :]
    need(not body, "orderMalformed")
    return found


def parse(data):
    need(len(data) <= LONGEST, "orderTooLong")
    need(data[:8] == MAGIC and len(data) > HEAD.size, "orderMalformed")
    version = int.from_bytes(data[8:10], "big")
    need(version <= 1, "orderUnsupportedVersion")
    need(version == 1 and len(data) >= HEAD.size + 4 + 64, "orderMalformed")
    _, _, action, scope, target, zero, ident, counter, issued, expires, signer = HEAD.unpack(data[: HEAD.size])
    subject, reason = fields(data[HEAD.size : -64])
    right = (
        zero == bytes(3)
        and target in (1, 2)
        and issued < expires < YEAR_10000
        and len(reason) <= 1024
        and plain_text(reason)
    )
    need(right, "orderMalformed")
    if action == 1:
        named = 1 <= len(subject) <= 256 and plain_text(subject)
        need(scope in SCOPES and (named if scope == 2 else not subject), "orderMalformed")
    else:
        need(action in ACTIONS and scope == 0, "orderMalformed")
        need(len(subject) == (0 if action == 2 else 32), "orderMalformed")
    return Order(action, scope, target, ident, counter, issued, expires, signer, subject, reason)


def judge(data, vault):
    order = parse(data)
    need(order.signer in vault.keys, "orderUnknownKey")
    need(order.signer[:31] not in SMALL_ORDER, "orderBadSignature")
    try:
        Ed25519PublicKey.from_public_bytes(order.signer).verify(data[-64:], data[:-64])
    except (ValueError, InvalidSignature):
        raise Refused("orderBadSignature") from None
    own = vault.vault if order.target == 1 else vault.device
    need(order.ident == own, "orderForeign")
    need(0 < order.counter < 2**64 - 1, "orderCounterOutOfRange")
    need(order.counter > (vault.last_contact if order.action == 2 else vault.last_order), "orderReplayed")
    need(order.issued <= vault.now, "orderNotYetValid")
    need(vault.now < order.expires, "orderExpired")
    return order


def main():
    parser = argparse.ArgumentParser(description="Reads and judges a signed order.")
    parser.add_argument("order")
    parser.add_argument("--key", action="append", required=True, type=bytes.fromhex)
    parser.add_argument("--vault", required=True, type=lambda text: bytes.fromhex(text.replace("-", "")))
    parser.add_argument("--device", default=b"", type=bytes.fromhex)
    parser.add_argument("--last", default=0, type=int)
    parser.add_argument("--now", default=None, type=int)
    given = parser.parse_args()
    now = int(time.time()) if given.now is None else given.now
    vault = Vault(tuple(given.key), given.vault, given.device, given.last, given.last, now)
    try:
        with open(given.order, "rb") as file:
            order = judge(file.read(LONGEST + 1), vault)
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 1
    shown = {
        "action": ACTIONS[order.action],
        "scope": SCOPES.get(order.scope),
        "counter": str(order.counter),
        "issued": order.issued,
        "expires": order.expires,
        "signer": order.signer.hex(),
        "subject": order.subject.hex(),
        "reason": order.reason.decode(),
    }
    print(json.dumps(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
