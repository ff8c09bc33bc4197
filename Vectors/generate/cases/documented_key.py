"""DOCUMENTED-KEY: the documented key from UUID, label and passcode, and the mistakes that lead to another."""

import base64

from cases.passwords import COMPOSED, DECOMPOSED
from reference import library, pure_hash
from vectorfile import VectorFile, agree, flip

HEADER = [
    "passcodeHash = Base64(SHA-256(utf8(passcode))), 44 characters; empty when the passcode is empty, which means none.",
    "key = SHA-256(utf8(uuid) || utf8(label) || passcodeHash).",
    "uuid, passcode and label are text, hashed as given; passcodeHash is text; key is hex.",
    "valid: the computed passcodeHash and key are the ones given. invalid: at least one of the two differs, or the uuid",
    "is empty and nothing is computed. Compare passcodeHash as bytes.",
]


def files():
    file = VectorFile("documented-key", "DOCUMENTED-KEY", "Coffer", "DocumentedKeyTest", HEADER)
    good_keys(file)
    bad_keys(file)
    bad_hashes(file)
    return [file]


def sha256(data):
    return agree(pure_hash.digest("sha256", data), library.digest("sha256", data))


def text_hash(passcode):
    return base64.b64encode(sha256(passcode.encode())).decode() if passcode else ""


def documented_key(uuid, passcode, label=""):
    return sha256((uuid + label + text_hash(passcode)).encode())


PASSCODES = (
    ("4 digits", "1234", "Pseudorandom"),
    ("4 zeros", "0000", "EdgeCase"),
    ("8 digits", "13572468", "Pseudorandom"),
    ("5 letters and digits", "a1B2c", "Pseudorandom"),
    ("one character", "7", "EdgeCase"),
    ("words", "Correct Horse Battery Staple", "Pseudorandom"),
    ("a space before", " 1234", "EdgeCase"),
    ("a space after", "1234 ", "EdgeCase"),
    ("a single space", " ", "EdgeCase"),
    ("a tab inside", "12\t34", "EdgeCase"),
    ("a line feed after", "1234\n", "EdgeCase"),
    ("carriage return and line feed after", "1234\r\n", "EdgeCase"),
    ("quotes and a backslash", "\"'\\", "EdgeCase"),
    ("a zero byte inside", "12\x0034", "EmbeddedNul"),
    ("a zero byte before", "\x001234", "EmbeddedNul"),
    ("a zero byte after", "1234\x00", "EmbeddedNul"),
    ("a zero byte alone", "\x00", "EmbeddedNul"),
    ("DEL and control characters", "\x01\x1b\x7f", "EdgeCase"),
    ("55 bytes: one block of SHA-256 with its padding", "p" * 55, "EdgeCase"),
    ("56 bytes: the padding needs a second block", "p" * 56, "EdgeCase"),
    ("63 bytes", "p" * 63, "EdgeCase"),
    ("64 bytes", "p" * 64, "EdgeCase"),
    ("65 bytes", "p" * 65, "EdgeCase"),
    ("1000 characters", "long passcode " * 71 + "123456", "EdgeCase"),
    ("1000 characters of three bytes", "\u5bc6" * 1000, "Unicode"),
    ("Latin letters with accents", "pa\u00dfw\u00f6rt", "Unicode"),
    ("Cyrillic", "\u043f\u0430\u0440\u043e\u043b\u044c", "Unicode"),
    ("Chinese", "\u53e3\u4ee4", "Unicode"),
    ("Arabic, right to left", "\u0643\u0644\u0645\u0629", "Unicode"),
    ("an emoji sequence with joiners", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "Unicode"),
    ("a flag", "\U0001f1e9\U0001f1ea", "Unicode"),
    ("the last code point", "\U0010ffff", "Unicode"),
    ("a byte order mark before", "\ufeff1234", "Unicode"),
    ("a zero-width space inside", "12\u200b34", "Unicode"),
    ("Arabic-Indic digits", "\u0661\u0662\u0663\u0664", "Normalisation"),
    ("full-width digits", "\uff11\uff12\uff13\uff14", "Normalisation"),
    ("a ligature", "\ufb01le", "Normalisation"),
    ("the letters of that ligature: another key", "file", "Normalisation"),
    ("Angstrom sign", "\u212b", "Normalisation"),
    ("letter A with ring: another key", "\u00c5", "Normalisation"),
    ("Ohm sign", "\u2126", "Normalisation"),
    ("letter Omega: another key", "\u03a9", "Normalisation"),
)
LABELS = (
    "com.example.app",
    "A",
    " ",
    "label with spaces",
    "k\u00fchlschrank",
    "\u0000",
    "x" * 100,
    "0",
    "/",
    "\U0001f511",
)


def good_keys(file):
    stream = file.stream

    def case(comment, flags, uuid, passcode, label=""):
        file.own().valid(
            comment,
            flags,
            uuid=uuid,
            passcode=passcode,
            label=label,
            passcodeHash=text_hash(passcode),
            key=documented_key(uuid, passcode, label),
        )

    for comment, passcode, flag in PASSCODES:
        case("passcode: " + comment, [flag], stream.uuid(), passcode)
    for composed, decomposed in zip(COMPOSED, DECOMPOSED):
        uuid = stream.uuid()
        assert documented_key(uuid, composed) != documented_key(uuid, decomposed)
        case("passcode composed (NFC)", ["Normalisation"], uuid, composed)
        case("the same passcode decomposed (NFD): another key", ["Normalisation"], uuid, decomposed)
    for number in range(4):
        case("no passcode", ["NoPasscode"], stream.uuid(), "")
    for label in LABELS:
        case("with a label", ["Label"], stream.uuid(), "1234", label)
        case("with a label, no passcode", ["Label", "NoPasscode"], stream.uuid(), "", label)
    uuid = stream.uuid()
    case("label composed (NFC)", ["Label", "Normalisation"], uuid, "1234", COMPOSED[0])
    case("label decomposed (NFD): another key", ["Label", "Normalisation"], uuid, "1234", DECOMPOSED[0])
    uuid = stream.uuid()
    case("UUID in upper case", ["Pseudorandom"], uuid, "1234")
    case("the same UUID in lower case: another key", ["LowerCaseUuid"], uuid.lower(), "1234")
    case("UUID in mixed case", ["LowerCaseUuid"], uuid[:18] + uuid[18:].lower(), "1234")
    case("UUID in lower case, no passcode", ["LowerCaseUuid", "NoPasscode"], uuid.lower(), "")
    case("UUID without dashes, hashed as given", ["EdgeCase"], uuid.replace("-", ""), "1234")
    case("UUID of zeros", ["EdgeCase"], "00000000-0000-0000-0000-000000000000", "1234")
    uuid = stream.uuid()
    case("UUID and label", ["Boundary"], uuid, "1234", "label")
    case("the label as part of the UUID text: the same key", ["Boundary"], uuid + "label", "1234")
    case(
        "the passcode's hash as label, no passcode: the key of that passcode",
        ["Boundary", "NoPasscode"],
        uuid,
        "",
        text_hash("1234"),
    )
    case("that passcode", ["Boundary"], uuid, "1234")


def bad_keys(file):
    stream = file.stream

    def case(comment, flag, build, passcode="1234", label="", lower=False):
        uuid = stream.uuid()
        uuid = uuid.lower() if lower else uuid
        key = build(uuid, passcode, label)
        assert key != documented_key(uuid, passcode, label), comment
        file.own().invalid(
            comment,
            [flag],
            uuid=uuid,
            passcode=passcode,
            label=label,
            passcodeHash=text_hash(passcode),
            key=key,
        )

    def right(*inputs):
        return documented_key(*inputs)

    def over(uuid, rest):
        return sha256(uuid.encode() + rest)

    for bit in (0, 7, 100, 128, 255):
        case(f"bit {bit} of the key flipped", "ModifiedOutput", lambda *a: flip(right(*a), bit))
    case("key cut to 16 bytes", "ModifiedOutput", lambda *a: right(*a)[:16])
    case("key cut to 31 bytes", "ModifiedOutput", lambda *a: right(*a)[:31])
    case("a zero byte after the key", "ModifiedOutput", lambda *a: right(*a) + b"\0")
    case("empty key", "ModifiedOutput", lambda *a: b"")
    case("key of zeros", "ModifiedOutput", lambda *a: bytes(32))
    case("key reversed", "ModifiedOutput", lambda *a: right(*a)[::-1])
    case("key of another passcode", "WrongKey", lambda u, p, l: right(u, "1235"))
    case("key of another UUID", "WrongKey", lambda u, p, l: right(stream.uuid(), p))
    case("key without the passcode", "WrongKey", lambda u, p, l: right(u, ""))
    wrong = "WrongConstruction"
    case("raw hash instead of Base64", wrong, lambda u, p, l: over(u, sha256(p.encode())))
    case("hash in hex instead of Base64", wrong, lambda u, p, l: over(u, sha256(p.encode()).hex().encode()))
    case(
        "Base64 with the URL alphabet",
        wrong,
        lambda u, p, l: over(u, base64.urlsafe_b64encode(sha256(p.encode()))),
        url_passcode(),
    )
    case("Base64 without its padding", wrong, lambda u, p, l: over(u, text_hash(p).rstrip("=").encode()))
    case("Base64 with a line feed", wrong, lambda u, p, l: over(u, text_hash(p).encode() + b"\n"))
    case(
        "Base64 with carriage return and line feed",
        wrong,
        lambda u, p, l: over(u, text_hash(p).encode() + b"\r\n"),
    )
    case("passcode not hashed", wrong, lambda u, p, l: over(u, p.encode()))
    case(
        "passcode hashed twice", wrong, lambda u, p, l: over(u, base64.b64encode(sha256(sha256(p.encode()))))
    )
    case(
        "passcode in UTF-16", wrong, lambda u, p, l: over(u, base64.b64encode(sha256(p.encode("utf-16-le"))))
    )
    case("passcode with its C terminator", wrong, lambda u, p, l: over(u, text_hash(p + "\0").encode()))
    case(
        "hash of SHA-1", wrong, lambda u, p, l: over(u, base64.b64encode(library.digest("sha1", p.encode())))
    )
    case("hash before UUID", wrong, lambda u, p, l: sha256((text_hash(p) + u).encode()))
    case("separator between UUID and hash", wrong, lambda u, p, l: over(u, b":" + text_hash(p).encode()))
    case(
        "UUID as 16 bytes",
        wrong,
        lambda u, p, l: sha256(bytes.fromhex(u.replace("-", "")) + text_hash(p).encode()),
    )
    case("UUID without dashes", wrong, lambda u, p, l: right(u.replace("-", ""), p))
    case("UUID turned into lower case", wrong, lambda u, p, l: right(u.lower(), p))
    case("UUID turned into upper case", wrong, lambda u, p, l: right(u.upper(), p), lower=True)
    case(
        "HMAC keyed with the UUID",
        wrong,
        lambda u, p, l: library.hmac("sha256", u.encode(), text_hash(p).encode()),
    )
    case("key hashed once more", wrong, lambda *a: sha256(right(*a)))
    case(
        "Base64 of the empty hash appended without a passcode",
        wrong,
        lambda u, p, l: over(u, base64.b64encode(sha256(b""))),
        "",
    )
    case("label ignored", wrong, lambda u, p, l: right(u, p), label="com.example.app")
    case(
        "label after the hash",
        wrong,
        lambda u, p, l: over(u, (text_hash(p) + l).encode()),
        label="com.example.app",
    )
    case(
        "label before the UUID",
        wrong,
        lambda u, p, l: sha256((l + u + text_hash(p)).encode()),
        label="com.example.app",
    )
    case("label in the passcode's hash", wrong, lambda u, p, l: right(u, l + p), label="com.example.app")
    case("label ignored, no passcode", wrong, lambda u, p, l: right(u, ""), "", "com.example.app")
    case("passcode stops at its zero byte", "EmbeddedNul", lambda u, p, l: right(u, "12"), "12\x0034")
    case("passcode of a zero byte taken as none", "EmbeddedNul", lambda u, p, l: right(u, ""), "\x00")
    case("label stops at its zero byte", "EmbeddedNul", lambda u, p, l: right(u, p, "a"), label="a\x00b")
    case("spaces trimmed", wrong, lambda u, p, l: right(u, p.strip()), " 1234 ")
    case("line feed trimmed", wrong, lambda u, p, l: right(u, p.strip()), "1234\n")
    case("byte order mark dropped", "Unicode", lambda u, p, l: right(u, p[1:]), "\ufeff1234")
    case(
        "digits folded to ASCII",
        "Normalisation",
        lambda u, p, l: right(u, "1234"),
        "\uff11\uff12\uff13\uff14",
    )
    case("letter case folded", wrong, lambda u, p, l: right(u, p.lower()), "PassCode")
    for composed, decomposed in zip(COMPOSED, DECOMPOSED):
        case(
            "decomposed passcode normalised to NFC",
            "Normalisation",
            lambda u, p, l: right(u, composed),
            decomposed,
        )
        case(
            "composed passcode normalised to NFD",
            "Normalisation",
            lambda u, p, l: right(u, decomposed),
            composed,
        )
    case(
        "decomposed label normalised to NFC",
        "Normalisation",
        lambda u, p, l: right(u, p, COMPOSED[0]),
        label=DECOMPOSED[0],
    )
    case("passcode cut to 8 bytes", wrong, lambda u, p, l: right(u, p[:8]), "123456789")
    case("passcode cut to 72 bytes", wrong, lambda u, p, l: right(u, p[:72]), "b" * 73)
    for passcode in ("", "1234"):
        file.own().invalid(
            "empty UUID",
            ["EmptyUuid"],
            uuid="",
            passcode=passcode,
            label="",
            passcodeHash=text_hash(passcode),
            key=documented_key("", passcode),
        )


def url_passcode():
    """The first number of four digits whose hash has a character that the URL alphabet writes differently."""
    return next(
        f"{n:04}" for n in range(10000) if "+" in text_hash(f"{n:04}") and "/" in text_hash(f"{n:04}")
    )


def bad_hashes(file):
    stream = file.stream

    def case(comment, build, passcode="1234", consistent=False, label=""):
        """With `consistent` the key fits the wrong hash, otherwise it is the right one."""
        uuid = stream.uuid()
        given = build(passcode, text_hash(passcode))
        assert given != text_hash(passcode)
        key = sha256((uuid + label + given).encode()) if consistent else documented_key(uuid, passcode, label)
        file.own().invalid(
            comment, ["WrongHash"], uuid=uuid, passcode=passcode, label=label, passcodeHash=given, key=key
        )

    for consistent, and_key in ((False, ", right key"), (True, ", key to match")):
        case("hash of another passcode" + and_key, lambda p, h: text_hash("4321"), consistent=consistent)
        case(
            "hash of another passcode with a label" + and_key,
            lambda p, h: text_hash("4321"),
            consistent=consistent,
            label="com.example.app",
        )
        case("no hash" + and_key, lambda p, h: "", consistent=consistent)
        case(
            "hash though there is no passcode" + and_key,
            lambda p, h: base64.b64encode(sha256(b"")).decode(),
            "",
            consistent,
        )
        case(
            "hash with the URL alphabet" + and_key,
            lambda p, h: h.replace("+", "-").replace("/", "_"),
            url_passcode(),
            consistent,
        )
        case("hash without its padding" + and_key, lambda p, h: h.rstrip("="), consistent=consistent)
        case("hash in hex" + and_key, lambda p, h: sha256(p.encode()).hex(), consistent=consistent)
        case("hash with a line feed" + and_key, lambda p, h: h + "\n", consistent=consistent)
        case("hash in lower case" + and_key, lambda p, h: h.lower(), consistent=consistent)
        case(
            "hash of the passcode normalised to NFC" + and_key,
            lambda p, h: text_hash(COMPOSED[0]),
            DECOMPOSED[0],
            consistent,
        )
        case(
            "hash of the passcode before its zero byte" + and_key,
            lambda p, h: text_hash("12"),
            "12\x0034",
            consistent,
        )
    case("first character of the hash changed", lambda p, h: ("A" if h[0] != "A" else "B") + h[1:])
    case("unused bits in the last character of the hash set", with_unused_bits)


def with_unused_bits(passcode, text):
    """Another spelling of the same bytes: 43 characters hold 258 bits, the last 2 are not used."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return text[:42] + alphabet[alphabet.index(text[42]) + 1] + "="
