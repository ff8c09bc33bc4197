#!/usr/bin/env python3
"""Reads an age file, version 1, from the published specification (C2SP age.md) and nothing else.

    read_age.py FILE --identity AGE-SECRET-KEY-1… | --passphrase TEXT

Writes the plaintext to stdout, or one line with the code of the refusal to stderr with exit code 1.
"""

import argparse
import base64
import binascii
import re
import sys

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CHUNK = 65536
SYMBOLS = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
LIMIT = 1 << 20


class Refused(Exception):
    """The file is refused; the argument is the code."""


def need(condition, code="corrupt"):
    if not condition:
        raise Refused(code)


def decoded(text):
    """Canonical Base64 without padding."""
    need(re.fullmatch(rb"[A-Za-z0-9+/]*", text) and len(text) % 4 != 1)
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise Refused("corrupt") from None
    need(base64.b64encode(data).rstrip(b"=") == text)
    return data


def secret_key(text):
    """The 32 bytes of an identity."""
    prefix = "AGE-SECRET-KEY-1"
    if not text.startswith(prefix) or any(c not in SYMBOLS for c in text[len(prefix) :]):
        raise ValueError("identity")
    values = [SYMBOLS.index(c) for c in text[len(prefix) :]]
    name = prefix[:-1].lower()
    check = 1
    for value in [ord(c) >> 5 for c in name] + [0] + [ord(c) & 31 for c in name] + values:
        top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
        for bit, term in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= term if top >> bit & 1 else 0
    number = 0
    for value in values[:-6]:
        number = number << 5 | value
    if check != 1 or len(values) != 58 or number & 15:
        raise ValueError("identity")
    return (number >> 4).to_bytes(32, "big")


def header(data):
    """The stanzas, the authenticated bytes, the MAC and the place behind the header."""
    first, _, _ = data.partition(b"\n")
    need(first.startswith(b"age-encryption.org/"))
    if first != b"age-encryption.org/v1":
        need(not re.fullmatch(rb"age-encryption\.org/v[\x21-\x7e]*", first), "unsupportedVersion")
        raise Refused("corrupt")
    place, stanzas = len(first) + 1, []

    def line():
        nonlocal place
        end = data.find(b"\n", place)
        need(end >= 0)
        found, place = data[place:end], end + 1
        return found

    while True:
        start = place
        text = line()
        if text.startswith(b"---"):
            need(text.startswith(b"--- ") and stanzas)
            mac = decoded(text[4:])
            need(len(mac) == 32)
            return stanzas, data[: start + 3], mac, place
        need(re.fullmatch(rb"->( [\x21-\x7e]+)+", text))
        body = b""
        while True:
            more = line()
            need(len(more) <= 64)
            body += more
            if len(more) < 64:
                break
        stanzas.append((text.split(b" ")[1:], decoded(body)))


def derived(key, salt, info):
    return HKDF(SHA256(), 32, salt or None, info).derive(key)


def unwrapped(body, key):
    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), body, None)
    except InvalidTag:
        return None


def file_key(stanzas, identity, passphrase):
    found, kinds = None, [arguments[0] for arguments, _ in stanzas]
    need(b"scrypt" not in kinds or len(kinds) == 1)
    for arguments, body in stanzas:
        if arguments[0] == b"X25519":
            need(len(arguments) == 2 and len(body) == 32)
            share = decoded(arguments[1])
            need(len(share) == 32)
            if identity is None or found:
                continue
            private = X25519PrivateKey.from_private_bytes(identity)
            public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            try:
                shared = private.exchange(X25519PublicKey.from_public_bytes(share))
            except ValueError:
                raise Refused("corrupt") from None
            found = unwrapped(body, derived(shared, share + public, b"age-encryption.org/v1/X25519"))
        if arguments[0] == b"scrypt":
            need(len(arguments) == 3 and len(body) == 32)
            salt = decoded(arguments[1])
            need(len(salt) == 16 and re.fullmatch(rb"[1-9][0-9]*", arguments[2]))
            need(len(arguments[2]) < 3 and int(arguments[2]) <= 22, "refused")
            if passphrase is None:
                continue
            label = b"age-encryption.org/v1/scrypt"
            key = Scrypt(label + salt, 32, 1 << int(arguments[2]), 8, 1).derive(passphrase)
            found = unwrapped(body, key)
            need(found, "wrongPasscode")
    need(found, "absent")
    return found


def read(data, identity=None, passphrase=None):
    stanzas, authenticated, mac, place = header(data)
    key = file_key(stanzas, identity, passphrase)
    check = HMAC(derived(key, b"", b"header"), SHA256())
    check.update(authenticated)
    try:
        check.verify(mac)
    except InvalidSignature:
        raise Refused("notAuthentic") from None
    nonce, payload = data[place : place + 16], data[place + 16 :]
    need(len(nonce) == 16 and payload)
    cipher, plaintext = ChaCha20Poly1305(derived(key, nonce, b"payload")), b""
    chunks = [payload[at : at + CHUNK + 16] for at in range(0, len(payload), CHUNK + 16)]
    for number, chunk in enumerate(chunks):
        last = number == len(chunks) - 1
        need(len(chunk) > 16 or len(chunk) == 16 and number == 0)
        try:
            plaintext += cipher.decrypt(number.to_bytes(11, "big") + bytes([last]), chunk, None)
        except InvalidTag:
            raise Refused("corrupt") from None
    return plaintext


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--identity", type=secret_key)
    way.add_argument("--passphrase", type=str.encode)
    options = parser.parse_args()
    with open(options.file, "rb") as file:
        data = file.read()
    try:
        sys.stdout.buffer.write(read(data, options.identity, options.passphrase))
    except Refused as refused:
        sys.exit(str(refused))


if __name__ == "__main__":
    main()
