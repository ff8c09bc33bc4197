#!/usr/bin/env python3
"""Reads recovery keys and what they open, as Formats.md describes them, over pyca/cryptography and hashlib.

    read_recovery.py VAULT-DIRECTORY

Asks for a recovery key on standard input and prints the device key's SHA-256 and the classes that the key opens.
"""

import hashlib
import hmac
import struct
import sys

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

VALUES = {symbol: value for value, symbol in enumerate("0123456789ABCDEFGHJKMNPQRSTVWXYZ")}
VALUES.update({symbol.lower(): value for symbol, value in VALUES.items()})
VALUES.update({"O": 0, "o": 0, "I": 1, "i": 1, "L": 1, "l": 1})


def read(text):
    """The 20 bytes and None, or None and the number of the wrong group; 9 when one is missing or too many."""
    characters = [character for character in text if character not in " \t-"]
    bits = 0
    for group in range(1, 9):
        part = characters[5 * (group - 1) : 5 * group]
        if not part:
            return None, 9
        if len(part) < 5 or any(character not in VALUES for character in part):
            return None, group
        digits = [group] + [VALUES[character] for character in part]
        # The check counts once, the digit before it twice, and so on to the group's number.
        weighted = [digit * (2 if place % 2 == 0 else 1) for place, digit in enumerate(digits)]
        if sum(value % 32 + value // 32 for value in weighted) % 32:
            return None, group
        for digit in digits[1:5]:
            bits = bits << 5 | digit
    return (None, 9) if len(characters) > 40 else (bits.to_bytes(20, "big"), None)


def hkdf(key, info, salt=bytes(32)):
    return hmac.digest(hmac.digest(salt, key, "sha256"), info + b"\1", "sha256")


def keys(secret, vault, device):
    """identifier, slotKey, copyKey and publicKey."""
    root = hkdf(secret, b"coffer/recovery/v1")
    inbox = X25519PrivateKey.from_private_bytes(hkdf(root, b"coffer/recovery-inbox/v1" + vault))
    return {
        "identifier": hkdf(root, b"coffer/recovery-id/v1" + vault)[:16],
        "slotKey": hkdf(root, b"coffer/recovery-wrap/v1" + vault, device),
        "copyKey": hkdf(root, b"coffer/recovery-device/v1" + vault),
        "publicKey": inbox.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw),
    }


def rotated(value, count):
    return (value << count | value >> 32 - count) & 0xFFFFFFFF


def hchacha20(key, nonce):
    state = list(struct.unpack("<16I", b"expand 32-byte k" + key + nonce))
    rounds = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    rounds += [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(10):
        for a, b, c, d in rounds:
            for first, second, third, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[first] = (state[first] + state[second]) & 0xFFFFFFFF
                state[third] = rotated(state[third] ^ state[first], count)
    return struct.pack("<8I", *state[:4], *state[12:])


def opened(wrapped, kek, context):
    """The key in a wrapped key; None when it does not open."""
    if len(wrapped) != 96 or wrapped[:4] != b"\1\0\0\0" or wrapped[4:8] == bytes(4):
        return None
    nonce = wrapped[24:48]
    cipher = ChaCha20Poly1305(hchacha20(kek, nonce[:16]))
    try:
        return cipher.decrypt(bytes(4) + nonce[16:], wrapped[48:], wrapped[:24] + context)
    except Exception:
        return None


def device_key(copy, kek, vault):
    """The device key in a slot of the file `recovery`; None when it does not open."""
    header = b"COFFERR1\0\1" + bytes(6) + vault
    if len(copy) != 512 or copy[:8] != header[:8] or copy[8:10] != header[8:10] or any(copy[128:]):
        return None
    if copy[16:32] != vault:
        return None
    return opened(copy[32:128], kek, copy[:32])


def judge(fields):
    """None when everything agrees; the number of the wrong group; otherwise the name of what differs."""
    secret, group = read(fields["text"])
    if secret is None:
        return group
    vault, device = fields["vaultID"], fields["deviceKey"]
    if secret != fields["secret"]:
        return "secret"
    derived = keys(secret, vault, device)
    for name, value in derived.items():
        if value != fields[name]:
            return name
    context = vault + struct.pack(">HH", fields["protection"], 1)
    if opened(fields["slot"], derived["slotKey"], context) != fields["classKey"]:
        return "slot"
    if len(fields["copy"]) != 128:
        return "copy"
    copy = fields["copy"] + bytes(384)
    return None if device_key(copy, derived["copyKey"], vault) == device else "copy"


def main():
    folder = sys.argv[1]
    with open(folder + "/recovery", "rb") as stream:
        record = stream.read()
    vault = record[16:32]
    secret, group = read(sys.stdin.readline().strip("\n"))
    if secret is None:
        sys.exit("group %d is wrong" % group)
    copy_key = keys(secret, vault, bytes(32))["copyKey"]
    device = device_key(record[:512], copy_key, vault) or device_key(record[512:], copy_key, vault)
    if device is None:
        sys.exit("the key opens neither slot")
    print("device key", hashlib.sha256(device).hexdigest())
    with open(folder + "/keybag", "rb") as stream:
        keybag = stream.read()
    slot_key = keys(secret, vault, device)["slotKey"]
    for place in range(len(keybag) - 96):
        for protection in range(1, 6):
            if keybag[place : place + 2] == struct.pack(">H", protection):
                context = vault + struct.pack(">HH", protection, 1)
                if opened(keybag[place + 2 : place + 98], slot_key, context):
                    print("class", protection)


if __name__ == "__main__":
    main()
