#!/usr/bin/env python3
"""Reads a file container, from its published description and nothing else.

The description is FileFormat.md in the documentation of the library. This program shares no code with the
library nor with write_container.py next to it, so that a slip in one of them shows as a disagreement.

    read_container.py CONTAINER --keys-fd N [--context-hex H] [--info]
    read_container.py CONTAINER --device-key-hex H --class-key-hex H --vault-id-hex H [--context-hex H] [--info]

Writes the plaintext (or with --info a JSON object) to stdout and exits 0. A container that is refused gives one
line on stderr, nothing on stdout, and exit code 1. All of it is checked before the first byte goes out.

Descriptor N holds a JSON object {"deviceKey": hex, "classKey": hex, "vaultID": hex}, and where the container is
wrapped under keys of the record of file keys, "outerKEK" and "innerKEK"; keys on the command line
are for tests, because other users of the machine can see them.
"""

import argparse
import hashlib
import hmac
import json
import os
import struct
import sys
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap

HEADER = 4096
SLOT = 2048
TAG = 16
SUITES = {1: ("AES-256-GCM", AESGCM), 2: ("ChaCha20-Poly1305", ChaCha20Poly1305)}
CLASSES = {1: "whenUnlockedThisDeviceOnly", 2: "afterFirstUnlockThisDeviceOnly"}
OUTER, INNER = 1, 2


class Refused(Exception):
    """The container is not what the description says, or these are not its keys."""


class Keys(NamedTuple):
    device: bytes
    klass: bytes
    vault: bytes
    context: bytes = b""
    outer_kek: bytes | None = None
    inner_kek: bytes | None = None


class Layer(NamedTuple):
    """The five values that come from one file key."""

    chunk: bytes
    nonce: bytes
    commitment: bytes
    header: bytes
    mac: bytes


class Slot(NamedTuple):
    raw: bytes
    which: str
    suite: int
    lg: int
    generation: int
    file_id: bytes
    klass: int
    layer: Layer

    @property
    def immutable(self):
        return self.raw[0:12] + self.raw[16:64]


class Inner(NamedTuple):
    suite: int
    flags: int
    generation: int
    length: int
    mtime: int
    name: bytes
    media_type: bytes
    layer: Layer


class Container(NamedTuple):
    slot: Slot
    inner: Inner
    plaintext: bytes


def kek(key, label, vault):
    """A key-encryption key: HKDF-SHA256 with extract and expand, no salt."""
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=label + vault).derive(key)


def unwrap(wrapping_key, algorithm, length, field):
    if algorithm != 1:
        raise Refused("unknown wrap algorithm %d" % algorithm)
    if length != 40:
        raise Refused("wrapped key of %d bytes" % length)
    try:
        return aes_key_unwrap(wrapping_key, field[:40])
    except InvalidUnwrap:
        raise Refused("wrapped key does not unwrap") from None


def schedule(file_key, layer, suite, lg, file_id, salt, context):
    info = b"coffer/file/v1" + bytes([layer, suite, lg]) + file_id + salt + context
    block = HKDFExpand(algorithm=hashes.SHA512(), length=140, info=info).derive(file_key)
    return Layer(block[0:32], block[32:44], block[44:76], block[76:108], block[108:140])


def equal(a, b):
    return hmac.compare_digest(a, b)


def read_slot(raw, which, keys):
    """A slot that holds, or Refused. An all-zero slot is refused like any other that has no magic."""
    if raw[0:8] != b"COFFERF1":
        raise Refused("wrong magic")
    version, suite, lg, generation = struct.unpack(">HBBI", raw[8:16])
    if version != 1:
        raise Refused("unknown version %d" % version)
    if suite not in SUITES:
        raise Refused("unknown outer suite %d" % suite)
    if not 4 <= lg <= 22:
        raise Refused("chunk size 2^%d out of bounds" % lg)
    file_id, salt = raw[16:32], raw[32:64]
    klass, algorithm = struct.unpack(">HH", raw[64:68])
    (length,) = struct.unpack(">H", raw[84:86])
    # Under the id of the vault the key is derived; any other id is that of a key of the record of file keys.
    if raw[68:84] == keys.vault:
        wrapping_key = kek(keys.device, b"coffer/file-outer-kek/v1", keys.vault)
    elif keys.outer_kek is not None:
        wrapping_key = keys.outer_kek
    else:
        raise Refused("outer key of the record of file keys, or of another vault")
    file_key = unwrap(wrapping_key, algorithm, length, raw[88:344])
    layer = schedule(file_key, OUTER, suite, lg, file_id, salt, b"")
    if not equal(layer.commitment, raw[344:376]):
        raise Refused("outer commitment does not hold")
    if not equal(hmac.new(layer.mac, raw[:2016], hashlib.sha256).digest(), raw[2016:2048]):
        raise Refused("slot authentication does not hold")
    if any(raw[86:88]) or any(raw[128:344]) or any(raw[1428:2016]):
        raise Refused("reserved bytes of the slot are not zero")
    return Slot(raw, which, suite, lg, generation, file_id, klass, layer)


def choose_slot(header, keys):
    """The valid slot with the highest generation."""
    valid, reason = [], None
    for which, raw in (("A", header[:SLOT]), ("B", header[SLOT:])):
        try:
            valid.append(read_slot(raw, which, keys))
        except Refused as refusal:
            # Of two reasons the one from a slot in use says more than that of an empty one.
            if reason is None or any(raw):
                reason = refusal
    if not valid:
        raise reason
    if len(valid) == 2 and valid[0].immutable != valid[1].immutable:
        raise Refused("the two slots disagree")
    if len(valid) == 2 and valid[0].generation == valid[1].generation and valid[0].raw != valid[1].raw:
        raise Refused("two different slots of one generation")
    return max(valid, key=lambda slot: slot.generation)


def read_inner(slot, keys):
    raw = slot.raw
    associated = raw[0:12] + raw[16:376]
    try:
        head = SUITES[slot.suite][1](slot.layer.header).decrypt(raw[376:388], raw[388:1428], associated)
    except InvalidTag:
        raise Refused("inner header does not open") from None
    if head[0:8] != b"COFFERI1":
        raise Refused("wrong inner magic")
    version, suite, lg, flags = struct.unpack(">HBBI", head[8:16])
    if version != 1:
        raise Refused("unknown inner version %d" % version)
    if suite != 1:
        raise Refused("unknown inner suite %d" % suite)
    if lg != slot.lg or head[16:32] != slot.file_id:
        raise Refused("inner header of another file")
    salt = head[32:64]
    algorithm, length = struct.unpack(">HH", head[80:84])
    wrapping_key = keys.inner_kek or kek(keys.klass, b"coffer/file-inner-kek/v1", keys.vault)
    file_key = unwrap(wrapping_key, algorithm, length, head[84:340])
    layer = schedule(file_key, INNER, suite, lg, slot.file_id, salt, keys.context)
    if not equal(layer.commitment, head[340:372]):
        raise Refused("inner commitment does not hold")
    if not equal(hmac.new(layer.mac, head[:992], hashlib.sha256).digest(), head[992:1024]):
        raise Refused("inner header authentication does not hold")
    generation, plain_length, mtime, name_length = struct.unpack(">QQqH", head[372:398])
    media_length, padding = head[653], head[781]
    if name_length > 255 or media_length > 127:
        raise Refused("name or media type too long")
    if padding != 0:
        raise Refused("unknown padding scheme %d" % padding)
    if flags > 1 or bool(flags & 1) != bool(keys.context):
        raise Refused("unknown flags, or a context missing or too much")
    if any(any(head[start:end]) for start, end in (
            (124, 340), (398 + name_length, 653), (654 + media_length, 781), (782, 992))):
        raise Refused("reserved bytes of the inner header are not zero")
    return Inner(suite, flags, generation, plain_length, mtime, head[398 : 398 + name_length],
                 head[654 : 654 + media_length], layer)


def chunk_nonce(base, index):
    tail = int.from_bytes(base[4:], "big") ^ index
    return base[:4] + tail.to_bytes(8, "big")


def open_chunks(body, slot, inner):
    """All plaintext, the last chunk first."""
    size = 1 << slot.lg
    stride = size + 2 * TAG
    whole, rest = divmod(len(body), stride)
    if not 2 * TAG <= rest <= size + 2 * TAG - 1:
        raise Refused("impossible size")
    if whole * size + rest - 2 * TAG != inner.length:
        raise Refused("size contradicts the inner header")
    outer_aead = SUITES[slot.suite][1](slot.layer.chunk)
    inner_aead = SUITES[inner.suite][1](inner.layer.chunk)

    def open_chunk(index):
        sealed = bytes(body[index * stride : (index + 1) * stride])
        try:
            between = outer_aead.decrypt(chunk_nonce(slot.layer.nonce, index), sealed, None)
            return inner_aead.decrypt(chunk_nonce(inner.layer.nonce, index), between, None)
        except InvalidTag:
            raise Refused("chunk %d is not authentic" % index) from None

    last = open_chunk(whole)
    return b"".join([open_chunk(index) for index in range(whole)] + [last])


def read(data, keys):
    """Everything about a container, after all of it was checked."""
    if len(data) < HEADER:
        raise Refused("too short for a header")
    slot = choose_slot(data[:HEADER], keys)
    inner = read_inner(slot, keys)
    return Container(slot, inner, open_chunks(memoryview(data)[HEADER:], slot, inner))


def describe(container):
    slot, inner = container.slot, container.inner
    return {
        "name": inner.name.decode("utf-8", "backslashreplace"),
        "mediaType": inner.media_type.decode("utf-8", "backslashreplace"),
        "length": inner.length,
        "class": CLASSES.get(slot.klass, "unknown (%d)" % slot.klass),
        "generation": inner.generation,
        "slot": slot.which,
        "slotGeneration": slot.generation,
        "lg": slot.lg,
        "suites": {"outer": SUITES[slot.suite][0], "inner": SUITES[inner.suite][0]},
        "fileID": slot.file_id.hex(),
        "contextBound": bool(inner.flags & 1),
        "mtime": inner.mtime,
    }


def hex_bytes(text, length=None):
    try:
        value = bytes.fromhex(text)
    except ValueError:
        raise argparse.ArgumentTypeError("not hexadecimal") from None
    if length is not None and len(value) != length:
        raise argparse.ArgumentTypeError("%d bytes expected, %d given" % (length, len(value)))
    return value


def key_hex(text):
    return hex_bytes(text, 32)


def vault_hex(text):
    return hex_bytes(text.replace("-", ""), 16)


def keys_from(arguments, parser):
    device, klass, vault = arguments.device_key_hex, arguments.class_key_hex, arguments.vault_id_hex
    if arguments.keys_fd is not None:
        try:
            with os.fdopen(arguments.keys_fd, "rb") as stream:
                given = json.loads(stream.read())
            device, klass = key_hex(given["deviceKey"]), key_hex(given["classKey"])
            vault = vault_hex(given["vaultID"])
            outer, inner = (key_hex(given[name]) if name in given else None for name in ("outerKEK", "innerKEK"))
            return Keys(device, klass, vault, arguments.context_hex, outer, inner)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, argparse.ArgumentTypeError):
            parser.error("the descriptor holds no usable keys")
    if device is None or klass is None or vault is None:
        parser.error("device key, class key and vault id are needed")
    return Keys(device, klass, vault, arguments.context_hex)


def main():
    parser = argparse.ArgumentParser(description="Reads a file container, independently of the library.")
    parser.add_argument("container")
    parser.add_argument("--device-key-hex", type=key_hex)
    parser.add_argument("--class-key-hex", type=key_hex)
    parser.add_argument("--vault-id-hex", type=vault_hex)
    parser.add_argument("--keys-fd", type=int, metavar="N", help="descriptor with the three keys as JSON")
    parser.add_argument("--context-hex", type=hex_bytes, default=b"")
    parser.add_argument("--info", action="store_true", help="print what the headers say, not the content")
    arguments = parser.parse_args()
    keys = keys_from(arguments, parser)
    try:
        with open(arguments.container, "rb") as stream:
            container = read(stream.read(), keys)
    except (OSError, Refused) as problem:
        print("read_container: %s" % problem, file=sys.stderr)
        return 1
    if arguments.info:
        print(json.dumps(describe(container)))
    else:
        sys.stdout.buffer.write(container.plaintext)
    return 0


if __name__ == "__main__":
    sys.exit(main())
