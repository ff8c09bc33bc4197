"""age files, version 1: written in plain Python, and shown to the independent reader of Tests/Independent."""

import base64
import hashlib
import sys
from pathlib import Path

from reference import pure_chacha, pure_hash, pure_x25519
from vectorfile import VectorFile, flip

INDEPENDENT = Path(__file__).resolve().parents[3] / "Tests" / "Independent"
sys.path.insert(0, str(INDEPENDENT))

import read_age as reader  # noqa: E402

HEADER = [
    "age files (C2SP age.md, version 1): `file` is opened with the secret key `identity` or with `passphrase`,",
    "whichever is not empty. valid: opening gives msg. invalid: opening is refused with the error expectError;",
    "what a streaming reader served before it refuses must be the beginning of msg.",
]
SYMBOLS = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
CHUNK = 65536
PASSPHRASE = b"correct horse battery staple"


def encoded(data):
    return base64.b64encode(data).rstrip(b"=")


def identity_text(secret):
    """Bech32 (BIP 173) of a secret key, in upper case."""
    number = int.from_bytes(secret, "big") << 4
    values = [number >> 5 * place & 31 for place in reversed(range(52))]
    name = "age-secret-key-"
    check = 1
    for value in [ord(c) >> 5 for c in name] + [0] + [ord(c) & 31 for c in name] + values + [0] * 6:
        top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
        for bit, term in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= term if top >> bit & 1 else 0
    values += [(check ^ 1) >> 5 * place & 31 for place in reversed(range(6))]
    return (name + "1").upper() + "".join(SYMBOLS[value] for value in values)


def hkdf(key, salt, info):
    return pure_hash.hkdf("sha256", key, salt, info, 32)


def sealed(key, nonce, data):
    ciphertext, tag = pure_chacha.seal(key, nonce, b"", data)
    return ciphertext + tag


class Family:
    def __init__(self):
        self.file = VectorFile("age", "AGE", "own", "AgeTest", HEADER)
        self.stream = self.file.stream
        self.group = self.file.own()
        self.secret = self.stream.bytes(32)
        self.public = pure_x25519.public_key(self.secret)
        self.file_key = self.stream.bytes(16)

    # Parts of a file.

    def body(self, wrapping, key=None):
        return self.lines(sealed(wrapping, bytes(12), self.file_key if key is None else key))

    @staticmethod
    def lines(data):
        text = encoded(data)
        return b"".join(text[at : at + 64] + b"\n" for at in range(0, len(text) + 1, 64))

    def x25519(self, public=None, key=None, info=b"age-encryption.org/v1/X25519", tail=b""):
        public, secret = self.public if public is None else public, self.stream.bytes(32)
        share = pure_x25519.public_key(secret)
        wrapping = hkdf(pure_x25519.multiply(secret, public), share + public, info)
        return b"-> X25519 " + encoded(share) + tail + b"\n" + self.body(wrapping, key)

    def scrypt(self, work=b"4", salt=None, key=None, derived=None):
        salt = self.stream.bytes(16) if salt is None else salt
        cost = 1 << (int(work) if derived is None else derived)
        wrapping = hashlib.scrypt(
            PASSPHRASE, salt=b"age-encryption.org/v1/scrypt" + salt, n=cost, r=8, p=1, maxmem=1 << 30, dklen=32
        )
        return b"-> scrypt " + encoded(salt) + b" " + work + b"\n" + self.body(wrapping, key)

    def head(self, *stanzas, version=b"age-encryption.org/v1\n", info=b"header", salt=b""):
        text = version + b"".join(stanzas) + b"---"
        return text + b" " + encoded(pure_hash.hmac("sha256", hkdf(self.file_key, salt, info), text)) + b"\n"

    def payload(self, message, plan=None, nonce=None, info=b"payload"):
        """`plan`: the number, the last-chunk flag and the bytes of each chunk."""
        nonce = self.stream.bytes(16) if nonce is None else nonce
        key = hkdf(self.file_key, nonce, info)
        if plan is None:
            chunks = [message[at : at + CHUNK] for at in range(0, len(message), CHUNK)] or [b""]
            plan = [(number, number == len(chunks) - 1, chunk) for number, chunk in enumerate(chunks)]
        return nonce + b"".join(
            sealed(key, number.to_bytes(11, "big") + bytes([last]), chunk) for number, last, chunk in plan
        )

    # Cases.

    def add(self, result, comment, flags, data, message, by_passphrase=False, **more):
        identity = "" if by_passphrase else identity_text(self.secret)
        passphrase = PASSPHRASE if by_passphrase else b""
        self.group.add(result, comment, flags, identity=identity, passphrase=passphrase, file=data, msg=message, **more)

    def open(self, data, by_passphrase):
        return reader.read(data, passphrase=PASSPHRASE) if by_passphrase else reader.read(data, self.secret)

    def good(self, comment, flags, data, message, by_passphrase=False):
        assert self.open(data, by_passphrase) == message, comment
        self.add("valid", comment, flags, data, message, by_passphrase)

    def bad(self, comment, flags, data, message, error="corrupt", by_passphrase=False):
        try:
            self.open(data, by_passphrase)
        except reader.Refused as refused:
            assert str(refused) == error, f"{comment}: {refused}"
            self.add("invalid", comment, flags, data, message, by_passphrase, expectError=error)
            return
        raise AssertionError(f"the reader accepts: {comment}")


def files():
    family = Family()
    assert reader.secret_key(identity_text(family.secret)) == family.secret
    sizes(family)
    recipients(family)
    passphrases(family)
    headers(family)
    stanza_fields(family)
    damage(family)
    payloads(family)
    return [family.file]


def sizes(family):
    stream = family.stream
    for size in (0, 1, 2, 15, 16, 17, 31, 32, 63, 64, 65, 100, 1000):
        message = stream.bytes(size)
        family.good(f"{size} bytes", ["Pseudorandom"], family.head(family.x25519()) + family.payload(message), message)
    message = stream.bytes(CHUNK + 1)
    family.good("two chunks", ["LargeMessage"], family.head(family.x25519()) + family.payload(message), message)


def recipients(family):
    stream = family.stream
    message = stream.bytes(20)
    payload = family.payload(message)
    others = [pure_x25519.public_key(stream.bytes(32)) for _ in range(3)]
    grease = b"-> joint+grease a !~ " + encoded(stream.bytes(12)) + b"\n" + family.lines(stream.bytes(48))
    empty = b"-> empty\n\n"
    for comment, stanzas in (
        ("the first of three recipients", (None, others[0], others[1])),
        ("the last of three recipients", (others[0], others[1], None)),
        ("twice the same recipient", (None, None)),
        ("an unknown stanza before", (grease, None)),
        ("an unknown stanza behind", (None, grease)),
        ("an unknown stanza with an empty body", (empty, None)),
        ("unknown stanzas of other case", (b"-> x25519\n\n", b"-> SCRYPT a\n\n", None)),
    ):
        texts = [s if s is not None and s.startswith(b"->") else family.x25519(s) for s in stanzas]
        family.good(comment, ["EdgeCase"], family.head(*texts) + payload, message)
    for comment, stanzas in (
        ("another recipient", (family.x25519(others[0]),)),
        ("three other recipients", tuple(family.x25519(other) for other in others)),
        ("an unknown stanza alone", (grease,)),
        ("a passphrase instead of a recipient", (family.scrypt(),)),
        ("wrapped under another label", (family.x25519(info=b"age-encryption.org/v1/x25519"),)),
    ):
        family.bad(comment, ["WrongKey"], family.head(*stanzas) + payload, message, "absent")


def passphrases(family):
    message = family.stream.bytes(20)
    payload = family.payload(message)
    for work in (b"1", b"2", b"5", b"10"):
        data = family.head(family.scrypt(work)) + payload
        family.good(f"work factor {work.decode()}", ["EdgeCase"], data, message, True)
    for work in (b"23", b"30", b"64", b"99", b"100", b"18446744073709551617"):
        data = family.head(family.scrypt(work, derived=1)) + payload
        family.bad(f"work factor {work.decode()}", ["InvalidIterationCount"], data, message, "refused", True)
    for work in (b"0", b"00", b"01", b"+1", b"-1", b"1.", b"0x1", b"1a", b"a1", b"1\xc2\xa0"):
        data = family.head(family.scrypt(work, derived=1)) + payload
        family.bad(f"work factor {work!r}", ["InvalidIterationCount"], data, message, "corrupt", True)
    data = family.head(family.scrypt(b"5", derived=4)) + payload
    family.bad("another work factor than the one used", ["WrongKey"], data, message, "wrongPasscode", True)
    data = family.head(family.x25519()) + payload
    family.bad("a recipient instead of a passphrase", ["WrongKey"], data, message, "absent", True)
    for comment, stanzas in (
        ("a passphrase twice", (family.scrypt(), family.scrypt())),
        ("a passphrase and a recipient", (family.scrypt(), family.x25519())),
        ("a passphrase behind an unknown stanza", (b"-> empty\n\n", family.scrypt())),
    ):
        family.bad(comment, ["WrongConstruction"], family.head(*stanzas) + payload, message, "corrupt", True)
    for size in (0, 15, 17, 32):
        data = family.head(family.scrypt(salt=family.stream.bytes(size))) + payload
        family.bad(f"{size} bytes of salt", ["InvalidIvSize"], data, message, "corrupt", True)
    for size in (0, 15, 17, 32):
        data = family.head(family.scrypt(key=family.stream.bytes(size))) + payload
        family.bad(f"a file key of {size} bytes", ["InvalidKeySize"], data, message, "corrupt", True)


def headers(family):
    """Lines that are not in the grammar, all with a right MAC."""
    message = family.stream.bytes(20)
    payload, stanza = family.payload(message), family.x25519()
    full = b"A" * 64
    for text in (
        b"->\n\n", b"-> \n\n", b"->a\n\n", b"-> a \n\n", b"->  a\n\n", b" -> a\n\n", b"-> a\t\n\n", b"-> \xc3\xa9\n\n",
        b"-> a\r\n\n", b"-> a\n", b"-> a\n" + full + b"\n", b"-> a\n" + full + b"A\n\n", b"-> a\nA\n", b"-> a\nAB\n",
        b"-> a\nAA==\n", b"-> a\nAA \n", b"-> a\nAA\r\n", b"-> a\nA_A\n", b"-> a\nAA\nAA\n", b"-> a\n\n\n", b"\n", b"a\n",
    ):
        family.bad(f"stanza {text!r}", ["ModifiedHeader"], family.head(text, stanza) + payload, message)
    for version in (b"v2", b"v10", b"v1a", b"v"):
        data = family.head(stanza, version=b"age-encryption.org/" + version + b"\n") + payload
        family.bad(f"version {version.decode()}", ["ModifiedHeader"], data, message, "unsupportedVersion")
    for line in (b"age-encryption.org/v1 \n", b"age-encryption.org/v1\r\n", b"age-encryption.org/1\n", b"\n", b"age\n"):
        family.bad(f"first line {line!r}", ["ModifiedHeader"], family.head(stanza, version=line) + payload, message)
    family.bad("no stanza", ["ModifiedHeader"], family.head() + payload, message)
    for comment, options in (
        ("another label for the MAC", {"info": b"headers"}),
        ("a salt for the MAC", {"salt": b"\1"}),
    ):
        data = family.head(stanza, **options) + payload
        family.bad(comment, ["WrongConstruction"], data, message, "notAuthentic")
    head = family.head(stanza)
    for comment, edit in (
        ("a space behind the MAC", lambda h: h[:-1] + b" \n"),
        ("a carriage return behind the MAC", lambda h: h[:-1] + b"\r\n"),
        ("padding behind the MAC", lambda h: h[:-1] + b"=\n"),
        ("a MAC of 31 bytes", lambda h: h[:-44] + encoded(bytes(31)) + b"\n"),
        ("a MAC of 33 bytes", lambda h: h[:-44] + encoded(bytes(33)) + b"\n"),
        ("no MAC", lambda h: h[:-45] + b"\n"),
        ("no space before the MAC", lambda h: h[:-45] + h[-44:]),
        ("two spaces before the MAC", lambda h: h[:-44] + b" " + h[-44:]),
        ("no end of the last line", lambda h: h[:-1]),
    ):
        family.bad(comment, ["ModifiedTag"], edit(head) + payload, message)
    data = head[:-44] + encoded(bytes(32)) + b"\n" + payload
    family.bad("a MAC of zeros", ["ModifiedTag"], data, message, "notAuthentic")


def stanza_fields(family):
    message = family.stream.bytes(20)
    payload = family.payload(message)
    family.bad("one more argument", ["ModifiedHeader"], family.head(family.x25519(tail=b" a")) + payload, message)
    for size in (0, 15, 17, 32):
        data = family.head(family.x25519(key=family.stream.bytes(size))) + payload
        family.bad(f"a file key of {size} bytes for a recipient", ["InvalidKeySize"], data, message)
    body = family.lines(family.stream.bytes(32))
    for comment, share in (
        ("no share", None),
        ("a share of 31 bytes", encoded(bytes(31))),
        ("a share of 33 bytes", encoded(bytes(33))),
        ("a share with padding", encoded(family.public) + b"="),
        ("a share of zeros", encoded(bytes(32))),
        ("a share of order 1", encoded(b"\1" + bytes(31))),
        (
            "a share of order 8",
            encoded(bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")),
        ),
    ):
        text = b"-> X25519" + (b"" if share is None else b" " + share) + b"\n" + body
        family.bad(comment, ["ModifiedHeader"], family.head(text) + payload, message)


def damage(family):
    message = family.stream.bytes(20)
    head = family.head(family.x25519())
    data = head + family.payload(message)
    for at in range(0, len(head), 3):
        changed = flip(data, 8 * at + at % 8)
        try:
            reader.read(changed, family.secret)
            raise AssertionError("the reader accepts a flipped bit")
        except reader.Refused as refused:
            family.bad(f"a bit of byte {at} flipped", ["ModifiedHeader"], changed, message, str(refused))
    for at in range(len(head), len(data), 5):
        family.bad(f"a bit of byte {at} flipped", ["ModifiedCiphertext"], flip(data, 8 * at + at % 8), message)
    for size in [0, 1, 21, 22, 75, 76, 119, 120, 167] + list(range(len(head), len(data), 7)):
        family.bad(f"cut to {size} bytes", ["InvalidCiphertextSize"], data[:size], message)
    for comment, more in (("a byte", b"\0"), ("a tag", bytes(16)), ("itself", data)):
        family.bad(f"extended by {comment}", ["InvalidCiphertextSize"], data + more, message)


def payloads(family):
    stream = family.stream
    head, message = family.head(family.x25519()), stream.bytes(40)
    for comment, plan in (
        ("the last chunk without its mark", [(0, False, message)]),
        ("the first chunk numbered 1", [(1, True, message)]),
        ("a mark of 2", [(0, 2, message)]),
        ("two short chunks", [(0, False, message[:20]), (1, True, message[20:])]),
        ("two last chunks", [(0, True, message[:20]), (1, True, message[20:])]),
        ("an empty chunk without its mark", [(0, False, b"")]),
        ("an empty last chunk behind a short one", [(0, False, message), (1, True, b"")]),
        ("no chunk", []),
    ):
        data = head + family.payload(message, plan)
        family.bad(comment, ["WrongConstruction"], data, message)
    for comment, options in (
        ("another label for the payload", {"info": b"payloads"}),
        ("no nonce", {"nonce": b""}),
        ("a nonce of 15 bytes", {"nonce": stream.bytes(15)}),
        ("a nonce of 17 bytes", {"nonce": stream.bytes(17)}),
    ):
        family.bad(comment, ["WrongConstruction"], head + family.payload(message, **options), message)
    large = stream.bytes(CHUNK)
    data = head + family.payload(large, [(0, False, large), (1, True, b"")])
    family.bad("an empty last chunk behind a full one", ["WrongConstruction"], data, large)
