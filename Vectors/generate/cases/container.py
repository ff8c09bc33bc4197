"""The file container, by the independent writer and reader of Tests/Independent."""

import hashlib
import hmac
import sys
from pathlib import Path

from vectorfile import VectorFile, flip

INDEPENDENT = Path(__file__).resolve().parents[3] / "Tests" / "Independent"
sys.path.insert(0, str(INDEPENDENT))

import read_container as reader  # noqa: E402
import write_container as writer  # noqa: E402

HEADER = [
    "File containers: doubly encrypted, in chunks; FileFormat.md in the documentation describes them.",
    "valid: opening gives msg, name and mtime. invalid: opening is refused with the error expectError.",
    "What a streaming reader served before it refuses must be the beginning of msg.",
]
SCHEMA = "own"
# The places of the fields of a slot, and of an inner header.
SLOT_FIELDS = {
    "magic": 0,
    "version": 8,
    "suite": 10,
    "lg": 11,
    "generation": 12,
    "file id": 16,
    "salt": 32,
    "class": 64,
    "wrap algorithm": 66,
    "key id": 68,
    "length of the wrapped key": 84,
    "wrapped key": 88,
    "zeros behind the wrapped key": 200,
    "commitment": 344,
    "nonce": 376,
    "sealed inner header": 388,
    "tag of the inner header": 1412,
    "zeros before the authentication": 1500,
    "authentication": 2016,
}
UNSUPPORTED = {"version", "suite", "class", "wrap algorithm"}


class Editing(writer.Writer):
    """A writer whose slot and inner header are changed before they are authenticated."""

    slot_edit = inner_edit = None

    def edit_slot(self, body):
        return body if self.slot_edit is None else put(body, *self.slot_edit)

    def edit_inner(self, body):
        return body if self.inner_edit is None else put(body, *self.inner_edit)


def put(data, at, value):
    return data[:at] + value + data[at + len(value) :]


class Family:
    def __init__(self):
        self.file = VectorFile("file-container", "FILE-CONTAINER", SCHEMA, "FileContainerTest", HEADER)
        self.group = self.file.own()
        stream = self.file.stream
        self.keys = reader.Keys(stream.bytes(32), stream.bytes(32), stream.bytes(16))
        self.class_key_id = hashlib.sha256(b"inner" + self.keys.klass).digest()[:16]
        self.count = 0

    def new(self, **options):
        self.count += 1
        made = Editing(
            self.keys.device,
            self.keys.klass,
            self.keys.vault,
            writer.Options(class_key_id=self.class_key_id, **options),
            f"{self.file.stream.seed}/{self.count}",
        )
        made.name_shown = None
        return made

    def add(self, result, comment, flags, container, message, keys=None, made=None, **more):
        keys = keys or self.keys
        options = made.options if made else writer.Options()
        fields = dict(
            deviceKey=keys.device,
            classKey=keys.klass,
            classKeyID=self.class_key_id,
            vaultID=keys.vault,
            context=keys.context,
            container=container,
            msg=message,
            name=options.name if made is None or made.name_shown is None else made.name_shown,
            mtime=options.mtime,
        )
        self.group.add(result, comment, flags, **fields, **more)

    def good(self, comment, flags, message, slots=(writer.SlotPlan(),), shown=None, edit=None, **options):
        made = self.new(**options)
        made.name_shown = shown
        container = made.container(message, slots)
        if edit:
            container = edit(container)
        keys = self.keys._replace(context=made.options.context)
        opened = reader.read(container, keys)
        expected = made.options.name if shown is None else shown
        assert (opened.plaintext, opened.inner.name, opened.inner.mtime) == (
            message,
            expected,
            made.options.mtime,
        ), comment
        self.add("valid", comment, flags, container, message, keys, made)

    def bad(self, comment, flags, container, message, error="corrupt", keys=None):
        try:
            reader.read(container, keys or self.keys)
        except reader.Refused:
            self.add("invalid", comment, flags, container, message, keys, expectError=error)
            return
        raise AssertionError(f"the reader accepts: {comment}")


def files():
    family = Family()
    sizes(family)
    slots(family)
    names(family)
    slot_damage(family)
    slot_values(family)
    inner_values(family)
    wrong_keys(family)
    lengths(family)
    order(family)
    constructions(family)
    return [family.file]


def sizes(family):
    stream = family.file.stream
    for suite in ("chacha20-poly1305", "aes-256-gcm"):
        for size in (0, 1, 15, 16, 17, 32, 47, 48, 100):
            family.good(
                f"{size} bytes, chunks of 16, outer {suite}",
                ["Pseudorandom"],
                stream.bytes(size),
                lg=4,
                suite=suite,
            )
    for lg, size in ((5, 31), (5, 32), (10, 1024), (12, 4095), (12, 4096), (16, 0), (16, 100), (22, 10)):
        family.good(f"{size} bytes, chunks of {1 << lg}", ["Pseudorandom"], stream.bytes(size), lg=lg)


def slots(family):
    message, plan = family.file.stream.bytes(40), writer.SlotPlan
    family.good("slot B alone", ["EdgeCase"], message, (plan("B", 7),), lg=4)
    for comment, a, b in (("B the newer", 1, 2), ("A the newer", 9, 8), ("the last generation", 1, 0xFFFFFFFF)):
        plans = (plan("A", a, name=b"a"), plan("B", b, name=b"b"))
        name = b"a" if a > b else b"b"
        family.good(f"both slots, {comment}", ["EdgeCase"], message, plans, name, lg=4, name=b"x")
    both = (plan("A", 1, name=b"a"), plan("B", 2, name=b"b"))
    for comment, edit, name in (
        ("the newer slot torn in its first half", lambda c: put(c, 2048, bytes(900)), b"a"),
        ("the newer slot torn in its last half", lambda c: put(c, 3000, bytes(1096)), b"a"),
        ("one bit of the newer slot flipped", lambda c: flip(c, 8 * 2500), b"a"),
        ("the older slot overwritten with zeros", lambda c: put(c, 0, bytes(2048)), b"b"),
        ("one bit of the older slot flipped", lambda c: flip(c, 8 * 40), b"b"),
    ):
        family.good(comment, ["TornWrite"], message, both, name, edit, lg=4, name=b"x")
    family.good("the second class", ["EdgeCase"], message, lg=4, protection_class=2)


def names(family):
    message = family.file.stream.bytes(20)
    for comment, name in (
        ("no name", b""),
        ("a name of 255 bytes", b"n" * 255),
        ("a name that is not UTF-8", b"\xff\xfe\n/\x01"),
        ("a composed name", "é".encode()),
        ("a decomposed name", "e\u0301".encode()),
    ):
        family.good(comment, ["FileName"], message, lg=4, name=name)
    family.good("a media type of 127 bytes", ["EdgeCase"], message, lg=4, media_type=b"t" * 127)
    for mtime in (1, -1, 1234567890123456789, -(1 << 63), (1 << 63) - 1):
        family.good(f"modified at {mtime}", ["EdgeCase"], message, lg=4, mtime=mtime)
    family.good("content of the last generation", ["EdgeCase"], message, lg=4, content_generation=(1 << 64) - 1)
    for context in (b"\0", b"context", bytes(range(256))):
        family.good(f"{len(context)} bytes of context", ["Context"], message, lg=4, context=context)


def slot_damage(family):
    """One bit in every field, and the authentication as it was."""
    message = family.file.stream.bytes(40)
    container = family.new(lg=4).container(message)
    for name, at in SLOT_FIELDS.items():
        # The highest bit of a number's first byte, so that the value is one that nobody uses.
        error = "unsupportedVersion" if name in UNSUPPORTED else "corrupt"
        error = "foreign" if name == "key id" else error
        family.bad(
            f"a bit of the slot's {name} flipped",
            ["ModifiedHeader"],
            flip(container, 8 * at + 7),
            message,
            error,
        )
    family.bad("the header all zeros", ["ModifiedHeader"], bytes(4096) + container[4096:], message)
    family.bad("the magic in lower case", ["ModifiedHeader"], b"cofferf1" + container[8:], message)


def slot_values(family):
    """Values that are authentic and not allowed."""
    message = family.file.stream.bytes(40)
    for comment, at, value, error in (
        ("version 0", 8, b"\0\0", "unsupportedVersion"),
        ("version 2", 8, b"\0\2", "unsupportedVersion"),
        ("version 257", 8, b"\1\1", "unsupportedVersion"),
        ("outer suite 0", 10, b"\0", "unsupportedVersion"),
        ("outer suite 3", 10, b"\3", "unsupportedVersion"),
        ("lg 0", 11, b"\0", "corrupt"),
        ("lg 3", 11, b"\3", "corrupt"),
        ("lg 23", 11, b"\x17", "corrupt"),
        ("lg 64", 11, b"\x40", "corrupt"),
        ("lg 255", 11, b"\xff", "corrupt"),
        ("wrap algorithm 0", 66, b"\0\0", "unsupportedVersion"),
        ("wrap algorithm 2", 66, b"\0\2", "unsupportedVersion"),
        ("a wrapped key of 0 bytes", 84, b"\0\0", "corrupt"),
        ("a wrapped key of 39 bytes", 84, b"\0\x27", "corrupt"),
        ("a wrapped key of 48 bytes", 84, b"\0\x30", "corrupt"),
        ("a wrapped key of 256 bytes", 84, b"\1\0", "corrupt"),
        ("a wrapped key of 65535 bytes", 84, b"\xff\xff", "corrupt"),
        ("another commitment", 344, bytes(32), "corrupt"),
        ("another file id", 16, bytes(16), "corrupt"),
        ("another salt", 32, bytes(32), "corrupt"),
    ):
        made = family.new(lg=4)
        made.slot_edit = (at, value)
        family.bad(f"{comment}, authentic", ["HeaderValue"], made.container(message), message, error)
    made = family.new(lg=4, suite="aes-256-gcm")
    made.slot_edit = (10, b"\2")
    family.bad("the suite exchanged for the other", ["Downgrade"], made.container(message), message)


def inner_values(family):
    message = family.file.stream.bytes(40)
    for comment, at, value, error in (
        ("magic of the outer header", 0, b"COFFERF1", "corrupt"),
        ("version 2", 8, b"\0\2", "unsupportedVersion"),
        ("suite 0", 10, b"\0", "unsupportedVersion"),
        ("suite 2", 10, b"\2", "unsupportedVersion"),
        ("lg 5", 11, b"\5", "corrupt"),
        ("another file id", 16, bytes(16), "corrupt"),
        ("another salt", 32, bytes(32), "corrupt"),
        ("wrap algorithm 2", 80, b"\0\2", "unsupportedVersion"),
        ("a wrapped key of 41 bytes", 82, b"\0\x29", "unsupportedVersion"),
        ("another wrapped key", 84, bytes(40), "corrupt"),
        ("another commitment", 340, bytes(32), "corrupt"),
        ("a length one smaller", 380, (39).to_bytes(8, "big"), "corrupt"),
        ("a length one larger", 380, (41).to_bytes(8, "big"), "corrupt"),
        ("a length of 0", 380, bytes(8), "corrupt"),
        ("a length of 2^63", 380, b"\x80" + bytes(7), "corrupt"),
        ("a length of 2^64 - 1", 380, b"\xff" * 8, "corrupt"),
        ("a name of 256 bytes", 396, b"\1\0", "corrupt"),
        ("a name of 65535 bytes", 396, b"\xff\xff", "corrupt"),
        ("a media type of 128 bytes", 653, b"\x80", "corrupt"),
        ("padding scheme 1", 781, b"\1", "unsupportedVersion"),
        ("padding scheme 255", 781, b"\xff", "unsupportedVersion"),
    ):
        made = family.new(lg=4)
        made.inner_edit = (at, value)
        family.bad(
            f"inner header: {comment}, authentic", ["HeaderValue"], made.container(message), message, error
        )


def wrong_keys(family):
    stream, keys = family.file.stream, family.keys
    message = stream.bytes(40)
    made = family.new(lg=4)
    container = made.container(message)
    for comment, error, changed in (
        ("another device key", "corrupt", keys._replace(device=stream.bytes(32))),
        ("a bit of the device key flipped", "corrupt", keys._replace(device=flip(keys.device, 0))),
        ("another class key", "corrupt", keys._replace(klass=stream.bytes(32))),
        ("a bit of the class key flipped", "corrupt", keys._replace(klass=flip(keys.klass, 255))),
        ("the keys exchanged", "corrupt", keys._replace(device=keys.klass, klass=keys.device)),
        ("another vault", "foreign", keys._replace(vault=stream.bytes(16))),
        ("a context where none is bound", "corrupt", keys._replace(context=b"c")),
    ):
        family.bad(comment, ["WrongKey"], container, message, error, changed)
    container = family.new(lg=4, context=b"context").container(message)
    for comment, context in (
        ("no context where one is bound", b""),
        ("another context", b"contexT"),
        ("a context cut", b"contex"),
        ("a context with a zero byte behind", b"context\0"),
    ):
        family.bad(comment, ["Context", "WrongKey"], container, message, keys=keys._replace(context=context))


def lengths(family):
    message = family.file.stream.bytes(40)
    container = family.new(lg=4).container(message)
    size = len(container)
    for cut in (1, 8, 15, 16, 17, 39, 40, 41, 88, size - 4096):
        family.bad(f"cut by {cut} bytes", ["Truncated"], container[: size - cut], message)
    for kept in (0, 1, 100, 2047, 2048, 4095):
        family.bad(f"the first {kept} bytes alone", ["Truncated"], container[:kept], message)
    for extra in (1, 16, 31, 32, 48, 4096):
        family.bad(f"{extra} zero bytes behind the end", ["Appended"], container + bytes(extra), message)
    family.bad("the last chunk twice", ["Appended"], container + container[-40:], message)


def order(family):
    stream = family.file.stream
    message, other = stream.bytes(56), stream.bytes(56)
    container = family.new(lg=4).container(message)
    foreign = family.new(lg=4).container(other)
    start, stride = 4096, 48
    chunk = [container[start + i * stride : start + (i + 1) * stride] for i in range(4)]
    head = container[:start]
    for comment, body in (
        ("the first two chunks exchanged", chunk[1] + chunk[0] + chunk[2] + chunk[3]),
        ("the second chunk a copy of the first", chunk[0] + chunk[0] + chunk[2] + chunk[3]),
        ("without the first chunk", chunk[1] + chunk[2] + chunk[3]),
        ("without a chunk in the middle", chunk[0] + chunk[2] + chunk[3]),
        ("a chunk put in twice", chunk[0] + chunk[1] + chunk[1] + chunk[2] + chunk[3]),
        ("the last chunk before the others", chunk[3] + chunk[0] + chunk[1] + chunk[2]),
        ("the body of another file", foreign[start:]),
        ("one chunk of another file", chunk[0] + foreign[start + stride :][:stride] + chunk[2] + chunk[3]),
    ):
        family.bad(comment, ["Reordered"], head + body, message)
    for index, part in enumerate(("first", "second", "third", "last")):
        last = 4096 + index * stride + len(chunk[index]) - 1
        for place, at in (("ciphertext", start + index * stride), ("inner tag", last - 20), ("tag", last)):
            family.bad(
                f"a bit of the {part} chunk's {place} flipped",
                ["ModifiedCiphertext"],
                flip(container, 8 * at),
                message,
            )
    newer = family.new(lg=4)
    second = newer.slot(writer.SlotPlan("B", 2), 56)
    family.bad("slots of two files", ["Reordered"], container[:2048] + second + container[4096:], message)
    family.bad("the header of another file", ["Reordered"], foreign[:4096] + container[4096:], message)


def constructions(family):
    """What nearly right writers would make."""
    stream = family.file.stream
    message = stream.bytes(40)

    class Single(Editing):
        def chunks(self, plaintext):
            aead, size = self.outer_aead(self.outer.chunk), 1 << self.options.lg
            pieces = [plaintext[at : at + size] for at in range(0, len(plaintext) + 1, size)]
            sealed = (aead.encrypt(self.outer.nonce_of(i), p, None) for i, p in enumerate(pieces))
            return b"".join(chunk + bytes(16) for chunk in sealed)

    class Exchanged(Editing):
        def chunks(self, plaintext):
            self.outer, self.inner = self.inner, self.outer
            try:
                return super().chunks(plaintext)
            finally:
                self.outer, self.inner = self.inner, self.outer

    class FromOne(Editing):
        def chunks(self, plaintext):
            nonces = self.outer.nonce_of, self.inner.nonce_of
            self.outer.nonce_of = lambda i: nonces[0](i + 1)
            self.inner.nonce_of = lambda i: nonces[1](i + 1)
            return super().chunks(plaintext)

    class NoEmptyEnd(Editing):
        def chunks(self, plaintext):
            body = super().chunks(plaintext)
            return body[:-32]

    def case(comment, kind, message):
        family.count += 1
        made = kind(
            family.keys.device,
            family.keys.klass,
            family.keys.vault,
            writer.Options(lg=4),
            f"{family.file.stream.seed}/{family.count}",
        )
        family.bad(comment, ["WrongConstruction"], made.container(message), message)

    case("one layer alone", Single, message)
    case("the layers exchanged", Exchanged, message)
    case("chunks counted from 1", FromOne, message)
    case("a whole last chunk and no empty one behind it", NoEmptyEnd, message[:32])
    made = family.new(lg=4)
    container = made.container(message)
    keyless = container[:2016] + hashlib.sha256(container[:2016]).digest() + container[2048:]
    family.bad("a digest where the authentication belongs", ["WrongConstruction"], keyless, message)
    under = hmac.new(made.inner.mac, container[:2016], hashlib.sha256).digest()
    family.bad(
        "authenticated with the inner layer's key",
        ["WrongConstruction"],
        container[:2016] + under + container[2048:],
        message,
    )
