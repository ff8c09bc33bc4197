"""Signed policies: written here field by field, judged by the independent reader of Tests/Independent."""

import base64
import struct
import sys
from pathlib import Path

from reference import library, pure_ed25519 as pure
from vectorfile import VectorFile, agree, flip

INDEPENDENT = Path(__file__).resolve().parents[3] / "Tests" / "Independent"
sys.path.insert(0, str(INDEPENDENT))

import read_policy as reader  # noqa: E402

HEADER = [
    "Signed policies; Formats.md in the documentation describes them. Nobody looks at the document here.",
    "valid: with keys pinned, for the vault or device, after the counter last and at now, policy is taken, says",
    "the fields given, and encoding those and signing with privateKey gives policy. Counters are 8 bytes in hex.",
    "invalid: policy is refused with expectError; the other fields are those of the policy it was made from.",
]
VAULT, DEVICE = 1, 2
PLIST, JSON = 1, 2
NOW = 1_800_000_000
MOST = 2**64 - 1
LAST_SECOND = 253402300799
SMALL = b'{"AllowExport":false}'
PROPERTY_LIST = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0">\n<dict><key>AllowExport</key><false/></dict>\n'
    b"</plist>\n"
)
MALFORMED = "orderMalformed"


class Family:
    def __init__(self):
        self.file = VectorFile("signed-policy", "SIGNED-POLICY", "own", "SignedPolicyTest", HEADER)
        stream = self.file.stream
        self.seed, self.other_seed = stream.bytes(32), stream.bytes(32)
        self.public, self.other = (
            agree(pure.public_key(seed), library.ed25519_public_key(seed))
            for seed in (self.seed, self.other_seed)
        )
        self.vault, self.device = stream.bytes(16), stream.bytes(16)
        self.base = {
            "target": VAULT,
            "format": JSON,
            "counter": 7,
            "issued": NOW - 60,
            "expires": NOW + 3600,
            "document": SMALL,
            "now": NOW,
            "last": 6,
            "keys": self.public,
            "seed": self.seed,
        }

    def body(self, says, **raw):
        head = struct.pack(
            ">8sHBB4s16sQQQ32s",
            raw.get("magic", b"COFFERJ1"),
            raw.get("version", 1),
            says["target"],
            says["format"],
            raw.get("zero", bytes(4)),
            raw.get("ident", self.vault if says["target"] == VAULT else self.device),
            says["counter"],
            says["issued"],
            says["expires"],
            raw.get("signer", pure.public_key(says["seed"])),
        )
        document = says["document"]
        return head + raw.get("tail", raw.get("size", len(document)).to_bytes(4, "big") + document)

    def sign(self, body, seed=None):
        seed = seed or self.seed
        return body + agree(pure.sign(seed, body), library.ed25519_sign(seed, body))

    def outcome(self, policy, says):
        """The code of the refusal by the independent reader; None when it takes the policy."""
        keys = tuple(says["keys"][at : at + 32] for at in range(0, len(says["keys"]), 32))
        try:
            read = reader.judge(policy, reader.Vault(keys, self.vault, self.device, says["last"], says["now"]))
        except reader.Refused as refusal:
            return str(refusal)
        for name in ("target", "format", "counter", "issued", "expires", "document"):
            assert getattr(read, name) == says[name], name
        return None

    def fields(self, policy, says):
        return {
            "keys": says["keys"],
            "vaultID": self.vault,
            "deviceID": self.device,
            "last": says["last"].to_bytes(8, "big"),
            "now": says["now"],
            "privateKey": says["seed"],
            "target": says["target"],
            "format": says["format"],
            "counter": says["counter"].to_bytes(8, "big"),
            "issued": says["issued"],
            "expires": says["expires"],
            "document": says["document"],
            "policy": policy,
        }

    def good(self, comment, flags=("Pseudorandom",), **changes):
        says = {**self.base, **changes}
        policy = self.sign(self.body(says), says["seed"])
        assert self.outcome(policy, says) is None, (comment, self.outcome(policy, says))
        self.file.own().valid(comment, list(flags), **self.fields(policy, says))

    def bad(self, comment, code, flags, policy, says=None):
        """`policy` is refused with `code`, by the reader too; its fields are those of `says`."""
        says = says or self.base
        found = self.outcome(policy, says)
        assert found == code, (comment, found)
        self.file.own().invalid(comment, list(flags), **self.fields(policy, says), expectError=code)

    def bad_says(self, comment, code, flags=("HeaderValue",), raw=None, **changes):
        """A policy that is signed rightly and says what is refused."""
        says = {**self.base, **changes}
        policy = self.sign(self.body(says, **(raw or {})), says["seed"])
        # A length that does not fit cannot be given again.
        self.bad(comment, code, flags, policy, {**says, "document": SMALL})


def files():
    family = Family()
    good(family)
    judged(family)
    malformed(family)
    tampered(family)
    encodings(family)
    return [family.file]


def good(family):
    both, edge = family.other + family.public, ("EdgeCase",)
    for target, word in ((VAULT, "vault"), (DEVICE, "device")):
        family.good(f"JSON, by {word}", target=target)
        family.good(f"a property list, by {word}", target=target, format=PLIST, document=PROPERTY_LIST)
    family.good("the signer's key is the second of two", keys=both)
    family.good("the signer's key is the first of two", keys=family.public + family.other)
    family.good("signed with the other key", keys=both, seed=family.other_seed)
    family.good("sixteen keys", keys=family.file.stream.bytes(32 * 15) + family.public)
    family.good("the least counter, none seen", edge, counter=1, last=0)
    family.good("the greatest counter", edge, counter=MOST - 1)
    family.good("the greatest counter after the one before", edge, counter=MOST - 1, last=MOST - 2)
    family.good("counter 2^63", edge, counter=1 << 63, last=(1 << 63) - 1)
    family.good("counter 2^32 after 2^32 - 1", edge, counter=1 << 32, last=(1 << 32) - 1)
    family.good("issued now", edge, issued=NOW)
    family.good("the last second", edge, expires=NOW + 1)
    family.good("valid for one second", edge, issued=NOW, expires=NOW + 1)
    family.good("1970", edge, issued=0, expires=1, now=0)
    for when, word in ((1 << 31, "2038"), (1 << 32, "2106"), (7_258_118_400, "2200")):
        family.good(f"in {word}", edge, issued=when - 1, expires=when + 1, now=when)
    family.good("the end of the calendar", edge, issued=LAST_SECOND - 1, expires=LAST_SECOND, now=LAST_SECOND - 1)
    family.good("from 1970 to the end of the calendar", edge, issued=0, expires=LAST_SECOND)
    family.good("a document of one byte", edge, document=b"{")
    family.good("the longest document", edge, document=b'{"x":"' + b"x" * 65528 + b'"}')
    family.good("a document that is a property list and called JSON", document=PROPERTY_LIST)
    family.good("a document with every byte", ("NonUtf8",), document=bytes(range(256)))
    family.good("a document of zeros", ("EmbeddedNul",), document=bytes(64))


def judged(family):
    """Well-formed policies, signed rightly or not, that this vault does not take."""
    other, base = family.other_seed, family.base
    body, wrong = family.body(base), ("WrongKey",)
    family.bad_says("signed with a key that is not pinned", "orderUnknownKey", wrong, seed=other)
    family.bad_says("no key is pinned", "orderUnknownKey", wrong, keys=b"")
    family.bad_says("only another key is pinned", "orderUnknownKey", wrong, keys=family.other)
    forged = family.sign(body, other)
    family.bad("another key's signature", "orderBadSignature", wrong, forged)
    both = {**base, "keys": family.public + family.other}
    family.bad("another pinned key's signature", "orderBadSignature", wrong, forged, both)
    renamed = family.body(base, signer=family.other) + family.sign(body)[-64:]
    family.bad("another pinned key is named as the signer", "orderBadSignature", wrong, renamed, both)
    for comment, signed in (
        ("without the magic", body[8:]),
        ("with the magic of an order", b"COFFERO1" + body[8:]),
        ("with a byte behind it", body + b"\0"),
        ("its SHA-256 alone", __import__("hashlib").sha256(body).digest()),
        ("without the document", body[:92]),
        ("the document alone", base["document"]),
    ):
        policy = body + family.sign(signed)[-64:]
        family.bad(f"the signature is over the policy {comment}", "orderBadSignature", ["WrongConstruction"], policy)
    # The format is signed: the same document in another format is another policy.
    turned = family.body({**base, "format": PLIST}) + family.sign(body)[-64:]
    family.bad("the format of another policy", "orderBadSignature", ["ModifiedHeader"], turned)
    policy = family.sign(body)
    s = int.from_bytes(policy[-32:], "little") + pure.L
    malleable = policy[:-32] + s.to_bytes(32, "little")
    family.bad("S raised by the order of the group", "orderBadSignature", ["Malleability"], malleable)
    family.bad("signature of zeros", "orderBadSignature", ["ModifiedSignature"], body + bytes(64))
    for index, torsion in enumerate((bytes([1]) + bytes(31), bytes(32))):
        small = family.body(base, signer=torsion) + torsion + bytes(32)
        says = {**base, "keys": torsion}
        family.bad(f"a pinned key of small order, {index + 1}", "orderBadSignature", ["SmallOrderKey"], small, says)
    for comment, target, ident in (
        ("another vault's", VAULT, family.file.stream.bytes(16)),
        ("another device's", DEVICE, family.file.stream.bytes(16)),
        ("the device's id as a vault's", VAULT, family.device),
        ("the vault's id as a device's", DEVICE, family.vault),
        ("an id of zeros", VAULT, bytes(16)),
        ("one bit of the id turned", VAULT, flip(family.vault, 127)),
    ):
        family.bad_says(comment, "orderForeign", wrong, raw={"ident": ident}, target=target)
    for counter in (0, MOST):
        for last in (0, 6, MOST - 1):
            family.bad_says(f"counter {counter} after {last}", "orderCounterOutOfRange", counter=counter, last=last)
    for counter, last in ((7, 7), (1, 1), (1, 7), (6, 7), (7, MOST - 1), (MOST - 1, MOST - 1), (7, 1 << 63)):
        family.bad_says(f"counter {counter} after {last}", "orderReplayed", ("Reordered",), counter=counter, last=last)
    time = ("EdgeCase",)
    family.bad_says("issued in a second", "orderNotYetValid", time, issued=NOW + 1)
    family.bad_says("issued in an hour", "orderNotYetValid", time, issued=NOW + 3599)
    family.bad_says("the clock is at 1970", "orderNotYetValid", time, now=0)
    family.bad_says("expired now", "orderExpired", time, expires=NOW)
    family.bad_says("expired a second ago", "orderExpired", time, expires=NOW - 1)
    family.bad_says("the clock is at 2038", "orderExpired", time, now=1 << 31)
    family.bad_says("expired in 1970", "orderExpired", time, issued=0, expires=1)


def malformed(family):
    """Signed by a pinned key and still no policy."""
    for version in (2, 3, 255, 256, 65535):
        family.bad_says(f"version {version}", "orderUnsupportedVersion", raw={"version": version})
    family.bad_says("version 0", MALFORMED, raw={"version": 0})
    for magic in (b"COFFERG2", b"COFFERO1", b"COFFERZ1", b"cofferG1", bytes(8)):
        family.bad_says(f"magic {magic}", MALFORMED, raw={"magic": magic})
    for target in (0, 3, 255):
        family.bad_says(f"sort of target {target}", MALFORMED, target=target)
    for form in (0, 3, 128, 255):
        family.bad_says(f"format {form}", MALFORMED, format=form)
    for place in range(4):
        family.bad_says(f"zero {place} is one", MALFORMED, raw={"zero": bytes(place) + b"\1" + bytes(3 - place)})
    family.bad_says("issued when it expires", MALFORMED, issued=NOW, expires=NOW)
    family.bad_says("expires before it is issued", MALFORMED, issued=NOW, expires=NOW - 1)
    family.bad_says("both times 0", MALFORMED, issued=0, expires=0)
    for expires in (LAST_SECOND + 1, 1 << 53, 1 << 62):
        family.bad_says(f"expires at {expires}", MALFORMED, expires=expires)
    size = len(SMALL)
    for comment, raw in (
        ("a length that is one too small", {"size": size - 1}),
        ("a length that is one too great", {"size": size + 1}),
        ("a length of 0", {"size": 0}),
        ("a length of 65537", {"size": 65537}),
        ("a length of 2^31", {"size": 1 << 31}),
        ("a length of 2^32 - 1", {"size": (1 << 32) - 1}),
        ("a length in little-endian order", {"tail": size.to_bytes(4, "little") + SMALL}),
        ("a length of two bytes", {"tail": size.to_bytes(2, "big") + SMALL}),
        ("a length of eight bytes", {"tail": size.to_bytes(8, "big") + SMALL}),
        ("no length", {"tail": SMALL}),
        ("a byte behind the document", {"tail": size.to_bytes(4, "big") + SMALL + b"\0"}),
        ("no document", {"tail": bytes(4)}),
        ("nothing behind the signer", {"tail": b""}),
    ):
        family.bad_says(comment, MALFORMED, ["Truncated"], raw=raw)
    family.bad_says("a document of 65537 bytes", "orderTooLong", ("EdgeCase",), document=b"x" * 65537)


def tampered(family):
    """Every byte of a short policy with one bit turned, and every beginning of it."""
    policy, stream = family.sign(family.body(family.base)), family.file.stream
    for place in range(len(policy)):
        changed = flip(policy, 8 * place + stream.below(8))
        flags = ["ModifiedSignature" if place >= len(policy) - 64 else "ModifiedMessage"]
        family.bad(f"a bit of byte {place} turned", family.outcome(changed, family.base), flags, changed)
    for size in range(len(policy)):
        code = family.outcome(policy[:size], family.base)
        family.bad(f"the first {size} bytes", code, ["Truncated"], policy[:size])
    for size in (1, 16, 64):
        family.bad(f"{size} zeros behind it", MALFORMED, ["Appended"], policy + bytes(size))
    family.bad("twice", MALFORMED, ["Appended"], policy + policy)


def encodings(family):
    """The right policy in a wrong dress."""
    policy = family.sign(family.body(family.base))
    for comment, dressed in (
        ("in hexadecimal", policy.hex().encode()),
        ("in Base64", base64.b64encode(policy)),
        ("with its bytes in reverse", policy[::-1]),
        ("behind a byte-order mark", b"\xef\xbb\xbf" + policy),
        ("behind a newline", b"\n" + policy),
        ("with a newline behind it", policy + b"\n"),
        ("the document alone", SMALL),
        ("with the signature in front", policy[-64:] + policy[:-64]),
    ):
        family.bad(comment, MALFORMED, ["InvalidEncoding"], dressed)
    little = bytearray(policy[:-64])
    for at in (32, 40, 48):
        little[at : at + 8] = little[at : at + 8][::-1]
    family.bad("numbers in little-endian order", MALFORMED, ["WrongConstruction"], family.sign(bytes(little)))
