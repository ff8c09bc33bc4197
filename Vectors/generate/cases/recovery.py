"""Recovery keys: their text, what is derived from them, and what they open, written here and read by Tests/Independent."""

import sys
from pathlib import Path

from reference import library, pure_chacha, pure_hash, pure_x25519
from vectorfile import VectorFile, agree, flip

INDEPENDENT = Path(__file__).resolve().parents[3] / "Tests" / "Independent"
sys.path.insert(0, str(INDEPENDENT))

import read_recovery as reader  # noqa: E402

HEADER = [
    "Recovery keys of a vault; Formats.md in the documentation describes them.",
    "valid: text is read as secret; with vaultID and deviceKey it gives identifier, slotKey, copyKey and publicKey;",
    "slot, a wrapped key of the class protection, opens to classKey, and copy, the first 128 bytes of a slot of the file recovery, to deviceKey.",
    "invalid: text is refused, a value differs from the one computed, or slot or copy do not open to what is given.",
]
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUPS, DATA = 8, 4


def hkdf(key, info, salt=b""):
    pseudorandom = pure_hash.hmac("sha256", salt or bytes(32), key)
    expanded = pure_hash.hmac("sha256", pseudorandom, info + b"\1")
    return agree(expanded, library.hkdf("sha256", key, salt, info, 32))


def write(secret):
    """The text of a key: base 32, most significant bits first, and Luhn's check of each group with its number."""
    number = int.from_bytes(secret, "big")
    symbols = [number >> 5 * (GROUPS * DATA - 1 - place) & 31 for place in range(GROUPS * DATA)]
    groups = []
    for group in range(GROUPS):
        part = symbols[DATA * group : DATA * (group + 1)]
        total = 0
        for place, digit in enumerate(reversed([group + 1, *part])):
            double = digit * 2 if place % 2 == 0 else digit
            total += double // 32 + double % 32
        groups.append("".join(ALPHABET[digit] for digit in [*part, -total % 32]))
    return "-".join(groups)


def wrapped(key, kek, ident, generation, context, nonce):
    head = bytes([1, 0, 0, 0]) + generation.to_bytes(4, "big") + ident
    parts = agree(*(module.xseal(kek, nonce, head + context, key) for module in (pure_chacha, library)))
    return head + nonce + b"".join(parts)


class Family:
    def __init__(self):
        self.file = VectorFile("recovery-key", "RECOVERY-KEY", "own", "RecoveryKeyTest", HEADER)

    def case(self, secret=None):
        stream = self.file.stream
        secret = secret if secret is not None else stream.bytes(20)
        vault, device, key = stream.bytes(16), stream.bytes(32), stream.bytes(32)
        protection = 1 + stream.below(5)
        root = hkdf(secret, b"coffer/recovery/v1")
        slot_key = hkdf(root, b"coffer/recovery-wrap/v1" + vault, salt=device)
        copy_key = hkdf(root, b"coffer/recovery-device/v1" + vault)
        ident = hkdf(root, b"coffer/recovery-id/v1" + vault)[:16]
        context = vault + protection.to_bytes(2, "big") + (1).to_bytes(2, "big")
        header = b"COFFERR1" + (1).to_bytes(2, "big") + bytes(6) + vault
        copy = header + wrapped(device, copy_key, ident, 1, header, stream.bytes(24))
        return {
            "text": write(secret),
            "secret": secret,
            "vaultID": vault,
            "deviceKey": device,
            "identifier": ident,
            "slotKey": slot_key,
            "copyKey": copy_key,
            "publicKey": agree(
                pure_x25519.public_key(inbox := hkdf(root, b"coffer/recovery-inbox/v1" + vault)),
                library.x25519_public_key(inbox),
            ),
            "protection": protection,
            "classKey": key,
            "slot": wrapped(key, slot_key, stream.bytes(16), 1 + stream.below(9), context, stream.bytes(24)),
            "copy": copy,
        }

    def good(self, comment, flag, fields):
        assert reader.judge(fields) is None, (comment, reader.judge(fields))
        self.file.own().valid(comment, [flag], **fields)

    def bad(self, comment, flag, fields):
        refusal = reader.judge(fields)
        assert refusal is not None, comment
        self.file.own().invalid(comment, [flag], **fields)


def spellings(family):
    for number in range(12):
        family.good(f"pseudorandom key {number + 1}", "Pseudorandom", family.case())
    for comment, secret in (
        ("all bits off", bytes(20)),
        ("all bits on", b"\xff" * 20),
        ("only the first bit", b"\x80" + bytes(19)),
        ("only the last bit", bytes(19) + b"\x01"),
        ("every symbol of the alphabet", bytes.fromhex("00443214c74254b635cf84653a56d7c675be77df")),
        ("repeated bytes", b"\x5a" * 20),
    ):
        family.good(comment, "EdgeCase", family.case(secret))
    base = family.case(bytes.fromhex("0842108421084210842108421084210842108421"))
    for comment, text in (
        ("in lower case", base["text"].lower()),
        ("without dashes", base["text"].replace("-", "")),
        ("with spaces between groups", base["text"].replace("-", "  ")),
        ("with spaces, tabs and dashes inside and around", " -" + "\t".join(base["text"]) + "- "),
        ("L for 1", base["text"].replace("1", "L")),
        ("I for 1", base["text"].replace("1", "I")),
        ("l and i for 1", base["text"].replace("1", "l", 9).replace("1", "i")),
    ):
        family.good(comment, "EdgeCase", {**base, "text": text})
    zero = family.case(bytes(20))
    for comment, letter in (("O for 0", "O"), ("o for 0", "o")):
        family.good(comment, "EdgeCase", {**zero, "text": zero["text"].replace("0", letter)})


def mistakes(family):
    base = family.case()
    text = base["text"]
    places = [place for place, character in enumerate(text) if character != "-"]
    for place in places:
        for step in (1, 7, 16, 31):
            other = ALPHABET[(ALPHABET.index(text[place]) + step) % 32]
            wrong = text[:place] + other + text[place + 1 :]
            comment = f"symbol {places.index(place) + 1}, by {step}"
            family.bad(comment, "ModifiedText", {**base, "text": wrong})
    groups = text.split("-")
    for first in range(GROUPS):
        for second in range(first + 1, GROUPS):
            moved = list(groups)
            moved[first], moved[second] = moved[second], moved[first]
            family.bad(
                f"groups {first + 1} and {second + 1} swapped", "ModifiedText", {**base, "text": "-".join(moved)}
            )
    for count in range(GROUPS):
        family.bad(f"{count} groups", "ModifiedText", {**base, "text": "-".join(groups[:count])})
        short = [*groups[:count], groups[count][:-1]]
        family.bad(f"group {count + 1} without its check", "ModifiedText", {**base, "text": "-".join(short)})
    family.bad("nine groups", "ModifiedText", {**base, "text": text + "-" + groups[0]})
    for character in "Uu!.:_/@[`{\n\r\0\u00a0\u00d8\u0131\u212a\uff11":
        family.bad(
            f"character U+{ord(character):04X}", "ModifiedText", {**base, "text": text[:13] + character + text[14:]}
        )


def differences(family):
    for number in range(3):
        base = family.case()
        for name in ("secret", "vaultID", "deviceKey", "identifier", "slotKey", "copyKey", "publicKey", "classKey"):
            bit = family.file.stream.below(8 * len(base[name]))
            family.bad(f"{name}: bit {bit}", "ModifiedValue", {**base, name: flip(base[name], bit)})
        for name, size in (("slot", 96), ("copy", 128)):
            for byte in (0, 1, 4, 8, 16, 24, 31, 32, 48, 60, size - 1):
                family.bad(
                    f"{name}: byte {byte}, {number}", "ModifiedValue", {**base, name: flip(base[name], 8 * byte + number)}
                )
            for cut in (0, size - 1):
                family.bad(f"{name}: {cut} bytes", "ModifiedValue", {**base, name: base[name][:cut]})
        for protection in range(1, 6):
            if protection != base["protection"]:
                family.bad(f"the class {protection}", "ModifiedValue", {**base, "protection": protection})
        family.bad("the text of another key", "ModifiedValue", {**base, "text": write(family.file.stream.bytes(20))})


def measure():
    """Every single error and every swap of two groups is found; of swapped neighbours, those of 0 and Z are not."""
    secret = VectorFile("recovery-key", "", "", "", []).stream
    single = swapped = missed = 0
    for _ in range(200):
        text = write(secret.bytes(20))
        for place, right in enumerate(text):
            if right == "-":
                continue
            for symbol in ALPHABET:
                if symbol != right:
                    assert reader.read(text[:place] + symbol + text[place + 1 :])[0] is None
                    single += 1
            if text[place + 1 : place + 2] not in ("", "-", right):
                swap = text[:place] + text[place + 1] + right + text[place + 2 :]
                swapped += 1
                missed += reader.read(swap)[0] is not None
    return single, swapped, missed


def files():
    family = Family()
    spellings(family)
    mistakes(family)
    differences(family)
    return [family.file]


if __name__ == "__main__":
    print("%d single errors, none read; %d swaps of neighbours, %d read" % measure())
