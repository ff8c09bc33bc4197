#!/usr/bin/env python3
"""Writes a file container, from its published description and nothing else.

It shares no code with the library nor with read_container.py. The library's reader is tested against what this
program writes, and read_container.py against what the library writes.

    write_container.py PLAINTEXT CONTAINER --device-key-hex H --class-key-hex H --vault-id-hex H [options]
    write_container.py PLAINTEXT CONTAINER --keys-fd N [options]

PLAINTEXT and CONTAINER may be "-" for stdin and stdout. With --seed the output depends on the arguments and
the plaintext alone; seeded containers are for tests, their keys can be guessed.
"""

import argparse
import hashlib
import hmac
import json
import os
import sys
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

AEADS = {"aes-256-gcm": (1, AESGCM), "chacha20-poly1305": (2, ChaCha20Poly1305)}


@dataclass
class Options:
    """What a writer may choose. The defaults are the library's."""

    lg: int = 16
    suite: str = "chacha20-poly1305"
    protection_class: int = 1
    name: bytes = b""
    media_type: bytes = b""
    mtime: int = 0
    content_generation: int = 1
    context: bytes = b""
    flags: int = None  # by default bit 0 says whether there is a context
    class_key_id: bytes = None  # by default one made from the class key


@dataclass
class SlotPlan:
    """One slot to be written, with its own keys, class or name where they differ, as after a rewrap."""

    where: str = "A"
    generation: int = 1
    device_key: bytes = None
    class_key: bytes = None
    protection_class: int = None
    name: bytes = None


class Source:
    """Random bytes: the system's, or for a seed always the same ones."""

    def __init__(self, seed=None):
        self.seed, self.calls = seed, 0

    def take(self, count):
        if self.seed is None:
            return os.urandom(count)
        self.calls += 1
        return hashlib.shake_256(b"%s/%d" % (str(self.seed).encode(), self.calls)).digest(count)


def field(value, width):
    """Bytes with zeros behind them up to the width of their field."""
    if len(value) > width:
        raise ValueError("%d bytes do not fit a field of %d" % (len(value), width))
    return value + bytes(width - len(value))


def hkdf_expand(digest, key, info, length):
    out = block = b""
    counter = 1
    while len(out) < length:
        block = hmac.new(key, block + info + bytes([counter]), digest).digest()
        out += block
        counter += 1
    return out[:length]


def kek(key, label, vault):
    # No salt in HKDF means a salt of zeros, as long as the digest.
    prk = hmac.new(bytes(32), key, hashlib.sha256).digest()
    return hkdf_expand(hashlib.sha256, prk, label + vault, 32)


class LayerKeys:
    def __init__(self, file_key, layer, suite, lg, file_id, salt, context):
        info = b"coffer/file/v1" + bytes([layer, suite, lg]) + file_id + salt + context
        stream = hkdf_expand(hashlib.sha512, file_key, info, 140)
        self.chunk, stream = stream[:32], stream[32:]
        self.nonce, stream = stream[:12], stream[12:]
        self.commitment, stream = stream[:32], stream[32:]
        self.header, self.mac = stream[:32], stream[32:]

    def nonce_of(self, index):
        return bytes(a ^ b for a, b in zip(self.nonce, index.to_bytes(12, "big")))


class Writer:
    def __init__(self, device_key, class_key, vault_id, options=None, seed=None):
        self.device_key, self.class_key, self.vault = device_key, class_key, vault_id
        self.options = options or Options()
        self.random = Source(seed)
        if not 4 <= self.options.lg <= 22:
            raise ValueError("lg is from 4 to 22")
        self.suite, self.outer_aead = AEADS[self.options.suite]
        file_id = bytearray(self.random.take(16))
        file_id[6], file_id[8] = file_id[6] & 0x0F | 0x40, file_id[8] & 0x3F | 0x80  # a version 4 UUID
        self.file_id = bytes(file_id)
        self.outer_salt, self.inner_salt = self.random.take(32), self.random.take(32)
        self.outer_file_key, self.inner_file_key = self.random.take(32), self.random.take(32)
        lg = self.options.lg
        self.outer = LayerKeys(self.outer_file_key, 1, self.suite, lg, self.file_id, self.outer_salt, b"")
        self.inner = LayerKeys(
            self.inner_file_key, 2, 1, lg, self.file_id, self.inner_salt, self.options.context)

    def container(self, plaintext, slots=(SlotPlan(),)):
        header = {"A": bytes(2048), "B": bytes(2048)}
        for plan in slots:
            header[plan.where] = self.slot(plan, len(plaintext))
        return header["A"] + header["B"] + self.chunks(plaintext)

    def slot(self, plan, length):
        options = self.options
        klass = options.protection_class if plan.protection_class is None else plan.protection_class
        device_key = plan.device_key or self.device_key
        wrapped = aes_key_wrap(kek(device_key, b"coffer/file-outer-kek/v1", self.vault), self.outer_file_key)
        before_generation = b"COFFERF1" + (1).to_bytes(2, "big") + bytes([self.suite, options.lg])
        after_generation = b"".join([
            self.file_id,
            self.outer_salt,
            klass.to_bytes(2, "big"),
            (1).to_bytes(2, "big"),
            self.vault,
            len(wrapped).to_bytes(2, "big"),
            bytes(2),
            field(wrapped, 256),
            self.outer.commitment,
        ])
        nonce = self.random.take(12)
        sealed = self.outer_aead(self.outer.header).encrypt(
            nonce, self.inner_header(plan, length), before_generation + after_generation)
        body = before_generation + plan.generation.to_bytes(4, "big") + after_generation + nonce + sealed
        body = self.edit_slot(field(body, 2016))
        return body + hmac.new(self.outer.mac, body, hashlib.sha256).digest()

    def inner_header(self, plan, length):
        options = self.options
        name = options.name if plan.name is None else plan.name
        class_key = plan.class_key or self.class_key
        flags = options.flags if options.flags is not None else int(bool(options.context))
        wrapped = aes_key_wrap(kek(class_key, b"coffer/file-inner-kek/v1", self.vault), self.inner_file_key)
        body = self.edit_inner(field(b"".join([
            b"COFFERI1",
            (1).to_bytes(2, "big"),
            bytes([1, options.lg]),
            flags.to_bytes(4, "big"),
            self.file_id,
            self.inner_salt,
            options.class_key_id or hashlib.sha256(b"inner" + class_key).digest()[:16],
            (1).to_bytes(2, "big"),
            len(wrapped).to_bytes(2, "big"),
            field(wrapped, 256),
            self.inner.commitment,
            options.content_generation.to_bytes(8, "big"),
            length.to_bytes(8, "big"),
            options.mtime.to_bytes(8, "big", signed=True),
            len(name).to_bytes(2, "big"),
            field(name, 255),
            len(options.media_type).to_bytes(1, "big"),
            field(options.media_type, 127),
            bytes(1),
        ]), 992))
        return body + hmac.new(self.inner.mac, body, hashlib.sha256).digest()

    # A test that needs a container which is wrong and yet authentic overrides these two.

    def edit_inner(self, body):
        return body

    def edit_slot(self, body):
        return body

    def chunks(self, plaintext):
        size = 1 << self.options.lg
        outer, inner = self.outer_aead(self.outer.chunk), AESGCM(self.inner.chunk)
        out = []
        # One chunk more than there are full ones: the last is always shorter, and may be empty.
        for index in range(len(plaintext) // size + 1):
            piece = plaintext[index * size : (index + 1) * size]
            once = inner.encrypt(self.inner.nonce_of(index), piece, None)
            out.append(outer.encrypt(self.outer.nonce_of(index), once, None))
        return b"".join(out)


def read_keys(arguments, parser):
    try:
        if arguments.keys_fd is not None:
            with os.fdopen(arguments.keys_fd, "rb") as stream:
                given = json.loads(stream.read())
            texts = given["deviceKey"], given["classKey"], given["vaultID"]
            arguments.class_key_id = bytes.fromhex(given.get("classKeyID", ""))
        else:
            texts = arguments.device_key_hex, arguments.class_key_hex, arguments.vault_id_hex
        keys = [bytes.fromhex(text.replace("-", "")) for text in texts]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        parser.error("device key, class key and vault id are needed, in hexadecimal")
    if [len(key) for key in keys] != [32, 32, 16]:
        parser.error("device key and class key have 32 bytes, the vault id has 16")
    return keys


def main():
    parser = argparse.ArgumentParser(description="Writes a file container, independently of the library.")
    parser.add_argument("plaintext")
    parser.add_argument("container")
    parser.add_argument("--device-key-hex")
    parser.add_argument("--class-key-hex")
    parser.add_argument("--vault-id-hex")
    parser.add_argument("--keys-fd", type=int, metavar="N", help="descriptor with the three keys as JSON")
    parser.add_argument("--lg", type=int, default=16, choices=range(4, 23), metavar="4…22")
    parser.add_argument("--suite", choices=sorted(AEADS), default="chacha20-poly1305", help="of the outer layer")
    parser.add_argument("--class", dest="protection_class", type=int, choices=(1, 2), default=1)
    parser.add_argument("--name", default="", help="any bytes; they need not be UTF-8")
    parser.add_argument("--media-type", default="")
    parser.add_argument("--mtime", type=int, default=0, help="nanoseconds since 1970")
    parser.add_argument("--generation", type=int, default=1, help="of the content")
    parser.add_argument("--slot", choices=("A", "B", "both"), default="A")
    parser.add_argument("--slot-generation", type=int, default=1, help="with both slots that of A, B the next")
    parser.add_argument("--context-hex", type=bytes.fromhex, default=b"")
    parser.add_argument("--seed", help="for the same random bytes every time")
    arguments = parser.parse_args()
    device_key, class_key, vault = read_keys(arguments, parser)
    options = Options(
        lg=arguments.lg,
        suite=arguments.suite,
        protection_class=arguments.protection_class,
        name=os.fsencode(arguments.name),
        media_type=os.fsencode(arguments.media_type),
        mtime=arguments.mtime,
        content_generation=arguments.generation,
        context=arguments.context_hex,
        class_key_id=getattr(arguments, "class_key_id", None),
    )
    first = arguments.slot_generation
    if arguments.slot == "both":
        plans = [SlotPlan("A", first), SlotPlan("B", first + 1)]
    else:
        plans = [SlotPlan(arguments.slot, first)]
    with sys.stdin.buffer if arguments.plaintext == "-" else open(arguments.plaintext, "rb") as stream:
        plaintext = stream.read()
    try:
        data = Writer(device_key, class_key, vault, options, arguments.seed).container(plaintext, plans)
    except (ValueError, OverflowError) as problem:
        print("write_container: %s" % problem, file=sys.stderr)
        return 1
    with sys.stdout.buffer if arguments.container == "-" else open(arguments.container, "wb") as stream:
        stream.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
