"""Signed orders: written here field by field, judged by the independent reader of Tests/Independent."""

import base64
import struct
import sys
from pathlib import Path

from reference import library, pure_ed25519 as pure
from vectorfile import VectorFile, agree, flip

INDEPENDENT = Path(__file__).resolve().parents[3] / "Tests" / "Independent"
sys.path.insert(0, str(INDEPENDENT))

import read_order as reader  # noqa: E402

HEADER = [
    "Signed orders to wipe, contacts and changes of keys; Formats.md in the documentation describes them.",
    "valid: with keys pinned, for the vault or device, after the last counters and at now, order is taken, says",
    "the fields given, and encoding those and signing with privateKey gives order. Counters are 8 bytes in hex.",
    "invalid: order is refused with expectError; the other fields are those of the order it was made from.",
]
WIPE, CONTACT, PIN, UNPIN = 1, 2, 3, 4
ALL, USER, TOKENS = 1, 2, 3
VAULT, DEVICE = 1, 2
NOW = 1_800_000_000
MOST = 2**64 - 1
LAST_SECOND = 253402300799


class Family:
    def __init__(self):
        self.file = VectorFile("signed-order", "SIGNED-ORDER", "own", "SignedOrderTest", HEADER)
        stream = self.file.stream
        self.seed, self.other_seed = stream.bytes(32), stream.bytes(32)
        self.public, self.other = (
            agree(pure.public_key(seed), library.ed25519_public_key(seed))
            for seed in (self.seed, self.other_seed)
        )
        self.vault, self.device = stream.bytes(16), stream.bytes(16)
        self.subject_key = stream.bytes(32)
        self.base = {
            "action": WIPE,
            "scope": ALL,
            "target": VAULT,
            "counter": 7,
            "issued": NOW - 60,
            "expires": NOW + 3600,
            "subject": b"",
            "reason": b"",
            "now": NOW,
            "last_order": 6,
            "last_contact": 6,
            "keys": self.public,
            "seed": self.seed,
        }

    def body(self, says, **raw):
        ident = raw.get("ident", self.vault if says["target"] == VAULT else self.device)
        head = struct.pack(
            ">8sHBBB3s16sQQQ32s",
            raw.get("magic", b"COFFERO1"),
            raw.get("version", 1),
            says["action"],
            says["scope"],
            says["target"],
            raw.get("zero", bytes(3)),
            ident,
            says["counter"],
            says["issued"],
            says["expires"],
            raw.get("signer", pure.public_key(says["seed"])),
        )
        tail = b"".join(len(field).to_bytes(2, "big") + field for field in (says["subject"], says["reason"]))
        return head + raw.get("tail", tail)

    def sign(self, body, seed=None):
        seed = seed or self.seed
        return body + agree(pure.sign(seed, body), library.ed25519_sign(seed, body))

    def outcome(self, order, says):
        """The code of the refusal by the independent reader; None when it takes the order."""
        keys = tuple(says["keys"][at : at + 32] for at in range(0, len(says["keys"]), 32))
        knows = reader.Vault(
            keys, self.vault, self.device, says["last_order"], says["last_contact"], says["now"]
        )
        try:
            read = reader.judge(order, knows)
        except reader.Refused as refusal:
            return str(refusal)
        for name in ("action", "scope", "target", "counter", "issued", "expires", "subject", "reason"):
            assert getattr(read, name) == says[name], name
        return None

    def fields(self, order, says):
        return {
            "keys": says["keys"],
            "vaultID": self.vault,
            "deviceID": self.device,
            "lastOrder": says["last_order"].to_bytes(8, "big"),
            "lastContact": says["last_contact"].to_bytes(8, "big"),
            "now": says["now"],
            "privateKey": says["seed"],
            "action": says["action"],
            "scope": says["scope"],
            "target": says["target"],
            "counter": says["counter"].to_bytes(8, "big"),
            "issued": says["issued"],
            "expires": says["expires"],
            "subject": says["subject"],
            "reason": says["reason"],
            "order": order,
        }

    def good(self, comment, flags=("Pseudorandom",), **changes):
        says = {**self.base, **changes}
        order = self.sign(self.body(says), says["seed"])
        assert self.outcome(order, says) is None, (comment, self.outcome(order, says))
        self.file.own().valid(comment, list(flags), **self.fields(order, says))

    def bad(self, comment, code, flags, order, says=None):
        """`order` is refused with `code`, by the reader too; its fields are those of `says`."""
        says = says or self.base
        found = self.outcome(order, says)
        assert found == code, (comment, found)
        self.file.own().invalid(comment, list(flags), **self.fields(order, says), expectError=code)

    def bad_says(self, comment, code, flags=("HeaderValue",), raw=None, **changes):
        """An order that is signed rightly and says what is refused."""
        says = {**self.base, **changes}
        order = self.sign(self.body(says, **(raw or {})), says["seed"])
        self.bad(comment, code, flags, order, says)


def files():
    family = Family()
    good(family)
    judged(family)
    malformed(family)
    tampered(family)
    encodings(family)
    return [family.file]


def good(family):
    key, both = family.subject_key, family.other + family.public
    for target, word in ((VAULT, "vault"), (DEVICE, "device")):
        family.good(f"wipe everything, by {word}", target=target)
        family.good(f"wipe the tokens, by {word}", target=target, scope=TOKENS)
        family.good(f"wipe a user's namespace, by {word}", target=target, scope=USER, subject=b"ada")
        family.good(f"contact, by {word}", target=target, action=CONTACT, scope=0)
        family.good(f"pin a key, by {word}", target=target, action=PIN, scope=0, subject=key)
        family.good(f"remove a key, by {word}", target=target, action=UNPIN, scope=0, subject=key)
    family.good("the signer's key is the second of two", keys=both)
    family.good("the signer's key is the first of two", keys=family.public + family.other)
    family.good("signed with the other key", keys=both, seed=family.other_seed)
    family.good("sixteen keys", keys=family.file.stream.bytes(32 * 15) + family.public)
    edge = ("EdgeCase",)
    family.good("the least counter, none seen", edge, counter=1, last_order=0)
    family.good("the greatest counter", edge, counter=MOST - 1)
    family.good("the greatest counter after the one before", edge, counter=MOST - 1, last_order=MOST - 2)
    family.good("counter 2^63", edge, counter=1 << 63, last_order=(1 << 63) - 1)
    family.good("counter 2^32 after 2^32 - 1", edge, counter=1 << 32, last_order=(1 << 32) - 1)
    family.good("contacts are counted apart", edge, last_contact=MOST - 1)
    family.good(
        "orders do not count for contacts", edge, action=CONTACT, scope=0, last_order=MOST - 1, last_contact=6
    )
    family.good("issued now", edge, issued=NOW)
    family.good("the last second", edge, expires=NOW + 1)
    family.good("valid for one second", edge, issued=NOW, expires=NOW + 1)
    family.good("1970", edge, issued=0, expires=1, now=0)
    for when, word in ((1 << 31, "2038"), (1 << 32, "2106"), (7_258_118_400, "2200")):
        family.good(f"in {word}", edge, issued=when - 1, expires=when + 1, now=when)
    family.good("the end of the calendar", edge, issued=LAST_SECOND - 1, expires=LAST_SECOND, now=LAST_SECOND - 1)
    family.good("from 1970 to the end of the calendar", edge, issued=0, expires=LAST_SECOND)
    family.good("a reason", reason=b"lost on a train")
    family.good("a reason outside ASCII", ("Unicode",), reason="verloren in Zürich \U0001f682".encode())
    family.good("a reason in two normal forms", ("Normalisation",), reason="\u00e9 e\u0301".encode())
    family.good("the longest reason", edge, reason=b"x" * 1024)
    family.good("a reason of spaces", edge, reason=b"  ")
    family.good("the shortest name", edge, scope=USER, subject=b"a")
    family.good("the longest name", edge, scope=USER, subject=b"n" * 256)
    family.good("a name outside ASCII", ("Unicode",), scope=USER, subject="Ада".encode())
    family.good("a name like a path", edge, scope=USER, subject=b"../../etc")
    family.good("the longest order", edge, scope=USER, subject=b"n" * 256, reason=b"x" * 1024)


def judged(family):
    """Well-formed orders, signed rightly or not, that this vault does not take."""
    other, base = family.other_seed, family.base
    body = family.body(base)
    wrong = ("WrongKey",)
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
        ("with a byte behind it", body + b"\0"),
        ("its SHA-256 alone", __import__("hashlib").sha256(body).digest()),
        ("without the reason's length", body[:-2]),
    ):
        order = body + family.sign(signed)[-64:]
        family.bad(f"the signature is over the order {comment}", "orderBadSignature", ["WrongConstruction"], order)
    order = family.sign(body)
    s = int.from_bytes(order[-32:], "little") + pure.L
    malleable = order[:-32] + s.to_bytes(32, "little")
    family.bad("S raised by the order of the group", "orderBadSignature", ["Malleability"], malleable)
    family.bad("signature of zeros", "orderBadSignature", ["ModifiedSignature"], body + bytes(64))
    for index, torsion in enumerate((bytes([1]) + bytes(31), bytes(32))):
        small = family.body(base, signer=torsion) + torsion + bytes(32)
        family.bad(
            f"a pinned key of small order, {index + 1}",
            "orderBadSignature",
            ["SmallOrderKey"],
            small,
            {**base, "keys": torsion},
        )
    foreign = ("WrongKey",)
    for comment, target, ident in (
        ("another vault's", VAULT, family.file.stream.bytes(16)),
        ("another device's", DEVICE, family.file.stream.bytes(16)),
        ("the device's id as a vault's", VAULT, family.device),
        ("the vault's id as a device's", DEVICE, family.vault),
        ("an id of zeros", VAULT, bytes(16)),
        ("one bit of the id turned", VAULT, flip(family.vault, 127)),
    ):
        family.bad_says(comment, "orderForeign", foreign, raw={"ident": ident}, target=target)
    for counter in (0, MOST):
        for last in (0, 6, MOST - 1):
            family.bad_says(
                f"counter {counter} after {last}", "orderCounterOutOfRange", counter=counter, last_order=last
            )
    family.bad_says(
        "counter 0 of a contact", "orderCounterOutOfRange", action=CONTACT, scope=0, counter=0, last_contact=0
    )
    replayed = ("Reordered",)
    for counter, last in ((7, 7), (1, 1), (1, 7), (6, 7), (7, MOST - 1), (MOST - 1, MOST - 1), (7, 1 << 63)):
        family.bad_says(
            f"counter {counter} after {last}", "orderReplayed", replayed, counter=counter, last_order=last
        )
    family.bad_says(
        "a contact's counter again", "orderReplayed", replayed, action=CONTACT, scope=0, last_contact=7
    )
    time = ("EdgeCase",)
    family.bad_says("issued in a second", "orderNotYetValid", time, issued=NOW + 1)
    family.bad_says("issued in a year", "orderNotYetValid", time, issued=NOW + 31_536_000, expires=NOW + 63_072_000)
    family.bad_says("the clock is at 1970", "orderNotYetValid", time, now=0)
    family.bad_says("the clock is at 1901 as 32 bits see 2038", "orderNotYetValid", time, now=1, issued=1 << 31, expires=1 << 32)
    family.bad_says("expired now", "orderExpired", time, expires=NOW)
    family.bad_says("expired a second ago", "orderExpired", time, expires=NOW - 1)
    family.bad_says("the clock is at 2038", "orderExpired", time, now=1 << 31)
    family.bad_says("the clock is at 2106", "orderExpired", time, now=1 << 32)
    family.bad_says("expired in 1970", "orderExpired", time, issued=0, expires=1)


def malformed(family):
    """Signed by a pinned key and still no order."""
    bad, key = "orderMalformed", family.subject_key
    for version in (2, 3, 255, 256, 65535):
        family.bad_says(f"version {version}", "orderUnsupportedVersion", raw={"version": version})
    family.bad_says("version 0", bad, raw={"version": 0})
    for magic in (b"COFFERO2", b"COFFERD1", b"cofferO1", b"\0" * 8):
        family.bad_says(f"magic {magic}", bad, raw={"magic": magic})
    for action in (0, 5, 128, 255):
        family.bad_says(f"action {action}", bad, action=action)
    for scope in (0, 4, 255):
        family.bad_says(f"scope {scope}", bad, scope=scope)
    for target in (0, 3, 255):
        family.bad_says(f"sort of target {target}", bad, target=target)
    for place in range(3):
        family.bad_says(f"zero {place} is one", bad, raw={"zero": bytes(place) + b"\1" + bytes(2 - place)})
    for action, word in ((CONTACT, "contact"), (PIN, "pinned key"), (UNPIN, "removed key")):
        subject = b"" if action == CONTACT else key
        family.bad_says(f"{word} with a scope", bad, action=action, scope=ALL, subject=subject)
    for size in (0, 1, 31, 33, 64):
        subject = (key * 2)[:size]
        family.bad_says(f"a key of {size} bytes to pin", bad, action=PIN, scope=0, subject=subject)
        if size != 1:
            family.bad_says(f"a key of {size} bytes to remove", bad, action=UNPIN, scope=0, subject=subject)
    family.bad_says("a contact with a subject", bad, action=CONTACT, scope=0, subject=key)
    family.bad_says("everything, with a name", bad, subject=b"ada")
    family.bad_says("tokens, with a name", bad, scope=TOKENS, subject=b"ada")
    family.bad_says("a user without a name", bad, scope=USER)
    family.bad_says("a name of 257 bytes", bad, scope=USER, subject=b"n" * 257)
    family.bad_says("a reason of 1025 bytes", bad, reason=b"x" * 1025)
    family.bad_says("issued when it expires", bad, issued=NOW, expires=NOW)
    family.bad_says("expires before it is issued", bad, issued=NOW, expires=NOW - 1)
    family.bad_says("both times 0", bad, issued=0, expires=0)
    for expires in (LAST_SECOND + 1, 1 << 53, 1 << 62):
        family.bad_says(f"expires at {expires}", bad, expires=expires)
    for comment, text in (
        ("a newline", b"a\nb"),
        ("an escape", b"\x1b[2J"),
        ("a zero byte", b"a\0"),
        ("a delete", b"a\x7f"),
        ("a C1 control", "a\u0085".encode()),
        ("a lone continuation byte", b"a\x80"),
        ("a cut character", b"a\xe2\x82"),
        ("an overlong slash", b"\xc0\xaf"),
        ("a surrogate", b"\xed\xa0\x80"),
        ("a code point beyond Unicode", b"\xf4\x90\x80\x80"),
        ("Latin-1", b"Z\xfcrich"),
        ("UTF-16", "ab".encode("utf-16-be")),
    ):
        family.bad_says(f"a reason with {comment}", bad, reason=text)
        family.bad_says(f"a name with {comment}", bad, scope=USER, subject=text)
    for comment, tail in (
        ("no lengths", b""),
        ("one byte of a length", b"\0"),
        ("no length of the reason", b"\0\0"),
        ("a reason longer than what is there", b"\0\0\0\1"),
        ("a subject longer than what is there", b"\xff\xff\0\0"),
        ("a byte behind the reason", b"\0\0\0\0\0"),
        ("a third field", b"\0\0\0\0\0\0"),
        ("lengths of four bytes", bytes(8)),
    ):
        family.bad_says(comment, bad, ["Truncated"], raw={"tail": tail})


def tampered(family):
    """Every byte of the shortest order with one bit turned, and every beginning of it."""
    order = family.sign(family.body(family.base))
    stream = family.file.stream
    for place in range(len(order)):
        changed = flip(order, 8 * place + stream.below(8))
        flags = ["ModifiedSignature" if place >= len(order) - 64 else "ModifiedMessage"]
        family.bad(f"a bit of byte {place} turned", family.outcome(changed, family.base), flags, changed)
    for size in range(len(order)):
        family.bad(f"the first {size} bytes", family.outcome(order[:size], family.base), ["Truncated"], order[:size])
    for size in (1, 16, 64):
        longer = order + bytes(size)
        family.bad(f"{size} zeros behind it", "orderMalformed", ["Appended"], longer)
    family.bad("twice", "orderMalformed", ["Appended"], order + order)
    longest = family.sign(family.body({**family.base, "scope": USER, "subject": b"n" * 256, "reason": b"x" * 1024}))
    for size in (1, 64, 4096):
        family.bad(f"the longest order and {size} bytes", "orderTooLong", ["Appended"], longest + bytes(size))
    family.bad("5000 zeros", "orderTooLong", ["Appended"], bytes(5000))


def encodings(family):
    """The right order in a wrong dress."""
    order = family.sign(family.body(family.base))
    for comment, dressed in (
        ("in hexadecimal", order.hex().encode()),
        ("in Base64", base64.b64encode(order)),
        ("with its bytes in reverse", order[::-1]),
        ("behind a byte-order mark", b"\xef\xbb\xbf" + order),
        ("behind a newline", b"\n" + order),
        ("with a newline behind it", order + b"\n"),
        ("as JSON", b'{"action":"wipe","scope":"all","counter":7}'),
        ("with the signature in front", order[-64:] + order[:-64]),
    ):
        family.bad(comment, "orderMalformed", ["InvalidEncoding"], dressed)
    little = bytearray(order[:-64])
    for at in (32, 40, 48):
        little[at : at + 8] = little[at : at + 8][::-1]
    code = family.outcome(family.sign(bytes(little)), family.base)
    assert code == "orderMalformed"
    family.bad("numbers in little-endian order", code, ["WrongConstruction"], family.sign(bytes(little)))
