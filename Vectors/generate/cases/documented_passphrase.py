"""DOCUMENTED-PASSPHRASE: the passphrase of a documented database, from the passcode or else from the UUID."""

import base64

from cases.documented_key import LABELS, PASSCODES, sha256, text_hash
from cases.passwords import COMPOSED, DECOMPOSED
from vectorfile import VectorFile, flip

HEADER = [
    "passphrase = Base64(SHA-256(utf8(passcode))) where there is a passcode, else Base64(SHA-256(utf8(uuid))):",
    "44 ASCII bytes, which SQLCipher's own PBKDF2 makes the key of.",
    "uuid and passcode are text, hashed as given; an empty passcode means none; passphrase is hex of its bytes.",
    "valid: the computed passphrase is the one given. invalid: it differs, or the uuid is empty and nothing is",
    "computed.",
]


def files():
    file = VectorFile(
        "documented-passphrase", "DOCUMENTED-PASSPHRASE", "Coffer", "DocumentedPassphraseTest", HEADER
    )
    good(file)
    bad(file)
    return [file]


def passphrase(uuid, passcode):
    return text_hash(passcode or uuid).encode()


def good(file):
    stream = file.stream

    def case(comment, flags, uuid, passcode):
        file.own().valid(comment, flags, uuid=uuid, passcode=passcode, passphrase=passphrase(uuid, passcode))

    for comment, passcode, flag in PASSCODES:
        case("passcode: " + comment, [flag], stream.uuid(), passcode)
    for composed, decomposed in zip(COMPOSED, DECOMPOSED):
        case("passcode composed (NFC)", ["Normalisation"], stream.uuid(), composed)
        case("the same passcode decomposed (NFD): another passphrase", ["Normalisation"], stream.uuid(), decomposed)
    for number in range(8):
        case("no passcode: from the UUID", ["NoPasscode"], stream.uuid(), "")
    uuid = stream.uuid()
    case("UUID in lower case, no passcode", ["LowerCaseUuid", "NoPasscode"], uuid.lower(), "")
    case("the same UUID in upper case: another passphrase", ["NoPasscode"], uuid, "")
    case("the UUID as passcode of another: that of the UUID alone", ["Boundary"], stream.uuid(), uuid)
    for text in LABELS:
        case("any text for a UUID, no passcode", ["NoPasscode", "EdgeCase"], text, "")


def bad(file):
    stream = file.stream

    def case(comment, flag, build, passcode="1234"):
        uuid = stream.uuid()
        given = build(uuid, passcode)
        assert given != passphrase(uuid, passcode), comment
        file.own().invalid(comment, [flag], uuid=uuid, passcode=passcode, passphrase=given)

    def encoded(data):
        return base64.b64encode(sha256(data))

    for passcode in ("1234", ""):
        named = ", no passcode" if not passcode else ""
        for bit in (0, 7, 100, 351):
            case(f"bit {bit} flipped{named}", "ModifiedOutput", lambda u, p: flip(passphrase(u, p), bit), passcode)
        case("cut to 43 bytes" + named, "ModifiedOutput", lambda u, p: passphrase(u, p)[:43], passcode)
        case("a zero byte after it" + named, "ModifiedOutput", lambda u, p: passphrase(u, p) + b"\0", passcode)
        case("a line feed after it" + named, "ModifiedOutput", lambda u, p: passphrase(u, p) + b"\n", passcode)
        case("empty" + named, "ModifiedOutput", lambda u, p: b"", passcode)
        case("not encoded" + named, "WrongConstruction", lambda u, p: sha256((p or u).encode()), passcode)
        case("in hex" + named, "WrongConstruction", lambda u, p: sha256((p or u).encode()).hex().encode(), passcode)
        case("not hashed" + named, "WrongConstruction", lambda u, p: (p or u).encode(), passcode)
        case("hashed twice" + named, "WrongConstruction", lambda u, p: encoded(sha256((p or u).encode())), passcode)
        case(
            "in UTF-16" + named, "WrongConstruction", lambda u, p: encoded((p or u).encode("utf-16-le")), passcode
        )
        case(
            "the documented key instead" + named,
            "WrongConstruction",
            lambda u, p: encoded((u + text_hash(p)).encode()) if p else encoded(sha256(u.encode())),
            passcode,
        )
        case("of another UUID or passcode" + named, "WrongKey", lambda u, p: passphrase(stream.uuid(), p and "4321"), passcode)
    case("from the UUID though there is a passcode", "WrongConstruction", lambda u, p: passphrase(u, ""))
    case("of UUID and passcode", "WrongConstruction", lambda u, p: encoded((u + p).encode()))
    case("hash of the empty text without a passcode", "WrongConstruction", lambda u, p: encoded(b""), "")
    case("UUID as 16 bytes", "WrongConstruction", lambda u, p: encoded(bytes.fromhex(u.replace("-", ""))), "")
    case("UUID without dashes", "WrongConstruction", lambda u, p: encoded(u.replace("-", "").encode()), "")
    case("UUID in lower case", "WrongConstruction", lambda u, p: encoded(u.lower().encode()), "")
    case("passcode stops at its zero byte", "EmbeddedNul", lambda u, p: encoded(b"12"), "12\x0034")
    case("passcode of a zero byte taken as none", "EmbeddedNul", lambda u, p: passphrase(u, ""), "\x00")
    case("spaces trimmed", "WrongConstruction", lambda u, p: encoded(p.strip().encode()), " 1234 ")
    case("a space alone taken as none", "WrongConstruction", lambda u, p: passphrase(u, ""), " ")
    for composed, decomposed in zip(COMPOSED, DECOMPOSED):
        case("decomposed passcode normalised", "Normalisation", lambda u, p: encoded(composed.encode()), decomposed)
        case("composed passcode normalised", "Normalisation", lambda u, p: encoded(decomposed.encode()), composed)
    for passcode in ("", "1234"):
        file.own().invalid(
            "empty UUID", ["EmptyUuid"], uuid="", passcode=passcode, passphrase=passphrase("", passcode)
        )
