#!/usr/bin/env python3
"""The documented key scheme, written a second time so that the library can be compared with it.

    passcodeHash = base64(SHA256(utf8(passcode)))
    key          = SHA256(utf8(UUID) || utf8(label) || passcodeHash)

Without a passcode the hash is empty.

    documented_key.py --uuid U [--label L]      the passcode is the first line of stdin; empty: no passcode
    documented_key.py --random N --seed S       N cases with random UUIDs, labels and passcodes

Every line of output is a JSON object with uuid, label, passcodeHash (Base64) and key (hex), with --random also
the passcode.
"""

import argparse
import base64
import hashlib
import json
import random
import re
import sys
import uuid

UUID4 = re.compile(r"[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}")

# What people type, and what programs get wrong: digits, composed and decomposed accents, other scripts, right to
# left, emoji made of several code points, spaces at the ends, quotes, controls, what some take for line ends.
ALPHABETS = [
    "0123456789",
    "0123456789",
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&*+-/=?@^_~",
    " \t'\"\\`${}|;<>",
    "äöüßéèñçøåÄÖÜ€",
    "e\u0301a\u0308n\u0303o\u0302 ﬁ Å Å",
    "пароль密码パスワード비밀번호ρωΣςσ",
    "كلمةסיסמה\u200f\u202e",
    "😀🔐👩\u200d👩\u200d👧🇩🇪👍🏽",
    "\u0001\u001b\u007f\u0085\u00a0\u2028\u2029\ufeff\u200b",
    "𝕬𝖇𐍈\U0010fffd",
]


def documented_key(identifier, label, passcode):
    """The pair (passcodeHash, key); the passcode is bytes, or None."""
    passcode_hash = base64.b64encode(hashlib.sha256(passcode).digest()) if passcode else b""
    key = hashlib.sha256(identifier.encode() + label.encode() + passcode_hash).digest()
    return passcode_hash.decode(), key.hex()


def random_text(source, longest):
    alphabet = source.choice(ALPHABETS)
    return "".join(source.choice(alphabet) for _ in range(source.randint(1, longest)))


def random_passcode(source):
    kind = source.random()
    if kind < 0.05:
        return ""
    if kind < 0.35:
        return "".join(source.choice("0123456789") for _ in range(source.randint(4, 8)))
    if kind < 0.40:
        return random_text(source, 300)
    return "".join(random_text(source, 12) for _ in range(source.randint(1, 3)))


def random_case(source):
    identifier = str(uuid.UUID(int=source.getrandbits(128), version=4)).upper()
    # No dash in front, or a command line would take the label for an option.
    label = "" if source.random() < 0.4 else random_text(source, 24).lstrip("-")
    return identifier, label, random_passcode(source)


def record(identifier, label, passcode, /, **more):
    passcode_hash, key = documented_key(identifier, label, passcode)
    return json.dumps({"uuid": identifier, "label": label, **more, "passcodeHash": passcode_hash, "key": key})


def main():
    parser = argparse.ArgumentParser(description="The documented key scheme, independently of the library.")
    parser.add_argument("--uuid", help="RFC 4122 version 4, upper case, with dashes")
    parser.add_argument("--label", default="")
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--seed", default="0")
    arguments = parser.parse_args()
    if (arguments.uuid is None) == (arguments.random is None):
        parser.error("either --uuid or --random")
    if arguments.random is not None:
        source = random.Random(arguments.seed)
        for _ in range(arguments.random):
            identifier, label, passcode = random_case(source)
            print(record(identifier, label, passcode.encode(), passcode=passcode))
        return 0
    if not UUID4.fullmatch(arguments.uuid):
        print("documented_key: not a version 4 UUID in upper case", file=sys.stderr)
        return 1
    passcode = sys.stdin.buffer.readline()
    print(record(arguments.uuid, arguments.label, passcode.removesuffix(b"\n")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
