"""The documented schemes: the key from UUID and passcode, CBC with the IV in front, and PBKDF2 before CBC."""

import base64

from cases.cbc import encrypt, encrypt_blocks, must_refuse
from cases.padding import bad_paddings, padding_lookalikes
from cases.passwords import COMPOSED, DECOMPOSED, NON_UTF_8, mended
from cases.pbkdf2 import pbkdf2
from reference import library, pure_hash
from vectorfile import SMALL_SIZES, VectorFile, agree, fit_aes_key, flip

KEY_HEADER = [
    "passcodeHash = Base64(SHA-256(utf8(passcode))), 44 characters; empty when the passcode is empty, which means none.",
    "key = SHA-256(utf8(uuid) || utf8(label) || passcodeHash).",
    "uuid, passcode and label are text, hashed as given; passcodeHash is text; key is hex.",
    "valid: the computed passcodeHash and key are the ones given. invalid: at least one of the two differs, or the uuid",
    "is empty and nothing is computed. Compare passcodeHash as bytes."]
CBC_HEADER = [
    "message = IV (16) || AES-CBC with PKCS #5 padding of msg under key, which has 16 or 32 bytes.",
    "valid: decryption of message gives msg, and encryption of msg with that IV gives message.",
    "invalid: decryption must be refused."]
PBKDF2_HEADER = [
    "key = PBKDF2-HMAC-prf(password, salt, iterationCount) to keySize bits (128 or 256);",
    "message = IV (16) || AES-CBC with PKCS #5 padding of msg under key.",
    "valid: decryption of message gives msg, and encryption of msg with that IV gives message.",
    "invalid: decryption must be refused."]


def files():
    return [key_file(), cbc_file(), pbkdf2_file()]


def sha256(data):
    return agree(pure_hash.digest("sha256", data), library.digest("sha256", data))


def text_hash(passcode):
    return base64.b64encode(sha256(passcode.encode())).decode() if passcode else ""


def documented_key(uuid, passcode, label=""):
    return sha256((uuid + label + text_hash(passcode)).encode())


# DOCUMENTED-KEY

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
LABELS = ("com.example.app", "A", " ", "label with spaces", "k\u00fchlschrank", "\u0000", "x" * 100, "0", "/",
          "\U0001f511")


def key_file():
    file = VectorFile("documented-key", "DOCUMENTED-KEY", "Coffer", "DocumentedKeyTest", KEY_HEADER)
    good_keys(file)
    bad_keys(file)
    bad_hashes(file)
    return file


def good_keys(file):
    stream = file.stream

    def case(comment, flags, uuid, passcode, label=""):
        file.own().valid(comment, flags, uuid=uuid, passcode=passcode, label=label, passcodeHash=text_hash(passcode),
                         key=documented_key(uuid, passcode, label))

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
    case("the passcode's hash as label, no passcode: the key of that passcode", ["Boundary", "NoPasscode"], uuid, "",
         text_hash("1234"))
    case("that passcode", ["Boundary"], uuid, "1234")


def bad_keys(file):
    stream = file.stream

    def case(comment, flag, build, passcode="1234", label="", lower=False):
        uuid = stream.uuid()
        uuid = uuid.lower() if lower else uuid
        key = build(uuid, passcode, label)
        assert key != documented_key(uuid, passcode, label), comment
        file.own().invalid(comment, [flag], uuid=uuid, passcode=passcode, label=label,
                           passcodeHash=text_hash(passcode), key=key)

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
    case("Base64 with the URL alphabet", wrong,
         lambda u, p, l: over(u, base64.urlsafe_b64encode(sha256(p.encode()))), url_passcode())
    case("Base64 without its padding", wrong, lambda u, p, l: over(u, text_hash(p).rstrip("=").encode()))
    case("Base64 with a line feed", wrong, lambda u, p, l: over(u, text_hash(p).encode() + b"\n"))
    case("Base64 with carriage return and line feed", wrong, lambda u, p, l: over(u, text_hash(p).encode() + b"\r\n"))
    case("passcode not hashed", wrong, lambda u, p, l: over(u, p.encode()))
    case("passcode hashed twice", wrong, lambda u, p, l: over(u, base64.b64encode(sha256(sha256(p.encode())))))
    case("passcode in UTF-16", wrong, lambda u, p, l: over(u, base64.b64encode(sha256(p.encode("utf-16-le")))))
    case("passcode with its C terminator", wrong, lambda u, p, l: over(u, text_hash(p + "\0").encode()))
    case("hash of SHA-1", wrong,
         lambda u, p, l: over(u, base64.b64encode(library.digest("sha1", p.encode()))))
    case("hash before UUID", wrong, lambda u, p, l: sha256((text_hash(p) + u).encode()))
    case("separator between UUID and hash", wrong, lambda u, p, l: over(u, b":" + text_hash(p).encode()))
    case("UUID as 16 bytes", wrong,
         lambda u, p, l: sha256(bytes.fromhex(u.replace("-", "")) + text_hash(p).encode()))
    case("UUID without dashes", wrong, lambda u, p, l: right(u.replace("-", ""), p))
    case("UUID turned into lower case", wrong, lambda u, p, l: right(u.lower(), p))
    case("UUID turned into upper case", wrong, lambda u, p, l: right(u.upper(), p), lower=True)
    case("HMAC keyed with the UUID", wrong, lambda u, p, l: library.hmac("sha256", u.encode(), text_hash(p).encode()))
    case("key hashed once more", wrong, lambda *a: sha256(right(*a)))
    case("Base64 of the empty hash appended without a passcode", wrong,
         lambda u, p, l: over(u, base64.b64encode(sha256(b""))), "")
    case("label ignored", wrong, lambda u, p, l: right(u, p), label="com.example.app")
    case("label after the hash", wrong, lambda u, p, l: over(u, (text_hash(p) + l).encode()), label="com.example.app")
    case("label before the UUID", wrong, lambda u, p, l: sha256((l + u + text_hash(p)).encode()),
         label="com.example.app")
    case("label in the passcode's hash", wrong, lambda u, p, l: right(u, l + p), label="com.example.app")
    case("label ignored, no passcode", wrong, lambda u, p, l: right(u, ""), "", "com.example.app")
    case("passcode stops at its zero byte", "EmbeddedNul", lambda u, p, l: right(u, "12"), "12\x0034")
    case("passcode of a zero byte taken as none", "EmbeddedNul", lambda u, p, l: right(u, ""), "\x00")
    case("label stops at its zero byte", "EmbeddedNul", lambda u, p, l: right(u, p, "a"), label="a\x00b")
    case("spaces trimmed", wrong, lambda u, p, l: right(u, p.strip()), " 1234 ")
    case("line feed trimmed", wrong, lambda u, p, l: right(u, p.strip()), "1234\n")
    case("byte order mark dropped", "Unicode", lambda u, p, l: right(u, p[1:]), "\ufeff1234")
    case("digits folded to ASCII", "Normalisation", lambda u, p, l: right(u, "1234"), "\uff11\uff12\uff13\uff14")
    case("letter case folded", wrong, lambda u, p, l: right(u, p.lower()), "PassCode")
    for composed, decomposed in zip(COMPOSED, DECOMPOSED):
        case("decomposed passcode normalised to NFC", "Normalisation", lambda u, p, l: right(u, composed), decomposed)
        case("composed passcode normalised to NFD", "Normalisation", lambda u, p, l: right(u, decomposed), composed)
    case("decomposed label normalised to NFC", "Normalisation", lambda u, p, l: right(u, p, COMPOSED[0]),
         label=DECOMPOSED[0])
    case("passcode cut to 8 bytes", wrong, lambda u, p, l: right(u, p[:8]), "123456789")
    case("passcode cut to 72 bytes", wrong, lambda u, p, l: right(u, p[:72]), "b" * 73)
    for passcode in ("", "1234"):
        file.own().invalid("empty UUID", ["EmptyUuid"], uuid="", passcode=passcode, label="",
                           passcodeHash=text_hash(passcode), key=documented_key("", passcode))


def url_passcode():
    """The first number of four digits whose hash has a character that the URL alphabet writes differently."""
    return next(f"{n:04}" for n in range(10000) if "+" in text_hash(f"{n:04}") and "/" in text_hash(f"{n:04}"))


def bad_hashes(file):
    stream = file.stream

    def case(comment, build, passcode="1234", consistent=False, label=""):
        """With `consistent` the key fits the wrong hash, otherwise it is the right one."""
        uuid = stream.uuid()
        given = build(passcode, text_hash(passcode))
        assert given != text_hash(passcode)
        key = sha256((uuid + label + given).encode()) if consistent else documented_key(uuid, passcode, label)
        file.own().invalid(comment, ["WrongHash"], uuid=uuid, passcode=passcode, label=label, passcodeHash=given,
                           key=key)

    for consistent, and_key in ((False, ", right key"), (True, ", key to match")):
        case("hash of another passcode" + and_key, lambda p, h: text_hash("4321"), consistent=consistent)
        case("hash of another passcode with a label" + and_key, lambda p, h: text_hash("4321"), consistent=consistent,
             label="com.example.app")
        case("no hash" + and_key, lambda p, h: "", consistent=consistent)
        case("hash though there is no passcode" + and_key, lambda p, h: base64.b64encode(sha256(b"")).decode(), "",
             consistent)
        case("hash with the URL alphabet" + and_key, lambda p, h: h.replace("+", "-").replace("/", "_"),
             url_passcode(), consistent)
        case("hash without its padding" + and_key, lambda p, h: h.rstrip("="), consistent=consistent)
        case("hash in hex" + and_key, lambda p, h: sha256(p.encode()).hex(), consistent=consistent)
        case("hash with a line feed" + and_key, lambda p, h: h + "\n", consistent=consistent)
        case("hash in lower case" + and_key, lambda p, h: h.lower(), consistent=consistent)
        case("hash of the passcode normalised to NFC" + and_key, lambda p, h: text_hash(COMPOSED[0]), DECOMPOSED[0],
             consistent)
        case("hash of the passcode before its zero byte" + and_key, lambda p, h: text_hash("12"), "12\x0034",
             consistent)
    case("first character of the hash changed", lambda p, h: ("A" if h[0] != "A" else "B") + h[1:])
    case("unused bits in the last character of the hash set", with_unused_bits)


def with_unused_bits(passcode, text):
    """Another spelling of the same bytes: 43 characters hold 258 bits, the last 2 are not used."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return text[:42] + alphabet[alphabet.index(text[42]) + 1] + "="


# DOCUMENTED-CBC


def cbc_file():
    file = VectorFile("documented-cbc", "DOCUMENTED-CBC", "Coffer", "DocumentedCbcTest", CBC_HEADER)
    for size in (16, 32):
        good_messages(file, size)
        bad_messages(file, size)
    stream = file.stream
    for size in (0, 8, 15, 17, 24, 31, 33, 64):
        key, iv, msg = stream.bytes(size), stream.bytes(16), stream.bytes(20)
        used = key if size == 24 else fit_aes_key(key)
        note = ": AES-192 is not part of the scheme" if size == 24 else ""
        file.own(keySize=8 * size, ivSize=128).invalid(f"key of {size} bytes{note}", ["InvalidKeySize"], key=key,
                                                       message=iv + encrypt(used, iv, msg), msg=msg)
    return file


def good_messages(file, size):
    stream = file.stream

    def case(comment, flags, msg, iv=None, key=None):
        key, iv = key or stream.bytes(size), iv or stream.bytes(16)
        file.own(keySize=8 * size, ivSize=128).valid(comment, flags, key=key, message=iv + encrypt(key, iv, msg),
                                                     msg=msg)

    for length in SMALL_SIZES:
        case(f"message of {length} bytes", ["Pseudorandom"], stream.bytes(length))
    for length in (1024,) if size == 16 else (4097,):
        case(f"message of {length} bytes", ["Pseudorandom", "LargeMessage"], stream.bytes(length))
    for comment, msg in padding_lookalikes(stream):
        case(comment, ["EdgeCase"], msg)
    case("IV of zeros", ["EdgeCase"], stream.bytes(20), iv=bytes(16))
    if size == 32:
        for passcode in ("", "1234"):
            uuid = stream.uuid()
            case(f"under the documented key of UUID {uuid} and passcode {passcode or '(none)'}", ["Pseudorandom"],
                 b"the documented scheme, from passcode to ciphertext", key=documented_key(uuid, passcode))


def bad_messages(file, size):
    stream = file.stream
    into = file.own(keySize=8 * size, ivSize=128)
    for comment, flag, padded, lenient in bad_paddings(stream):
        key, iv = stream.bytes(size), stream.bytes(16)
        ct = encrypt_blocks(key, iv, padded)
        must_refuse(key, iv, ct)
        into.invalid(comment, [flag], key=key, message=iv + ct, msg=lenient)
    key, iv, msg = stream.bytes(size), stream.bytes(16), stream.bytes(40)
    message = iv + encrypt(key, iv, msg)
    for length in (*range(17), 17, 24, 31, 33, 47):
        comment = f"message of {length} bytes" + (": an IV alone" if length == 16 else "")
        into.invalid(comment, ["InvalidCiphertextSize"], key=key, message=message[:length], msg=b"")
    into.invalid("a zero byte after the message", ["InvalidCiphertextSize"], key=key, message=message + b"\0", msg=msg)

    def case(comment, flag, change):
        while True:
            key, iv, msg = stream.bytes(size), stream.bytes(16), stream.bytes(40)
            used, message = change(key, iv + encrypt(key, iv, msg))
            try:
                must_refuse(used, message[:16], message[16:])
                into.invalid(comment, [flag], key=used, message=message, msg=msg)
                return
            except AssertionError:
                continue  # the padding came out right by chance: draw again

    case("last block dropped", "ModifiedCiphertext", lambda k, m: (k, m[:-16]))
    case("a block of zeros added", "ModifiedCiphertext", lambda k, m: (k, m + bytes(16)))
    case("IV behind the ciphertext", "ModifiedIv", lambda k, m: (k, m[16:] + m[:16]))
    case("last bit flipped", "ModifiedCiphertext", lambda k, m: (k, flip(m, 8 * len(m) - 1)))
    case("last pad byte changed through the block before", "ModifiedCiphertext",
         lambda k, m: (k, flip(m, 8 * len(m) - 129)))
    case("another key", "WrongKey", lambda k, m: (stream.bytes(size), m))
    case("one bit of the key flipped", "WrongKey", lambda k, m: (flip(k, 0), m))
    key, iv, msg = stream.bytes(size), stream.bytes(16), stream.bytes(9)
    message = flip(iv, 127) + encrypt(key, iv, msg)
    must_refuse(key, message[:16], message[16:])
    into.invalid("one block, last bit of the IV flipped: the last pad byte changes", ["ModifiedIv"], key=key,
                 message=message, msg=msg)
    if size == 32:
        uuid = stream.uuid()
        message = iv + encrypt(documented_key(uuid, "1234"), iv, msg)
        key = documented_key(uuid, "1235")
        must_refuse(key, message[:16], message[16:])
        into.invalid("documented keys of the same UUID, passcode 1235 for 1234", ["WrongKey"], key=key,
                     message=message, msg=msg)


# PBKDF2-CBC


def pbkdf2_file():
    file = VectorFile("pbkdf2-cbc", "PBKDF2-CBC", "Coffer", "Pbkdf2CbcTest", PBKDF2_HEADER)
    for prf in ("sha1", "sha256", "sha512"):
        for size in (16, 32):
            good_derived(file, prf, size)
            bad_derived(file, prf, size)
    return file


def device_secret(stream):
    """Device identifier and random string of the device scheme."""
    return stream.uuid(), base64.b64encode(stream.bytes(18)).decode()


def good_derived(file, prf, size):
    stream = file.stream

    def case(comment, flags, password, msg, salt=None, rounds=1000):
        salt, iv = stream.bytes(16) if salt is None else salt, stream.bytes(16)
        message = iv + encrypt(pbkdf2(prf, password, salt, rounds, size), iv, msg)
        file.own().valid(comment, flags, prf=prf, password=password, salt=salt, iterationCount=rounds,
                         keySize=8 * size, message=message, msg=msg)

    for length in (0, 15, 16, 33):
        case(f"message of {length} bytes", ["Pseudorandom"], stream.bytes(14), stream.bytes(length))
    for rounds in (1, 2, 4096, 5000):
        case(f"{rounds} iterations", ["Pseudorandom"], stream.bytes(14), stream.bytes(20), rounds=rounds)
    for number in range(3):
        device, text = device_secret(stream)
        case(f"device scheme: password = utf8(deviceId || randomString), deviceId {device}, randomString {text}",
             ["DeviceScheme"], (device + text).encode(), stream.bytes(25))
    device = "ger\u00e4t-\u0031"
    case("device scheme: password = utf8(deviceId || randomString), deviceId g e r U+00E4 t - 1, randomString xyz",
         ["DeviceScheme", "Unicode"], (device + "xyz").encode(), stream.bytes(25))
    case("empty password", ["EmptyPassword"], b"", stream.bytes(20))
    case("zero byte inside the password", ["EmbeddedNul"], b"1234\x005678", stream.bytes(20))
    case("password that is not UTF-8", ["NonUtf8"], NON_UTF_8[0][1], stream.bytes(20))
    case("composed password (NFC)", ["Normalisation"], COMPOSED[2].encode(), stream.bytes(20))
    case("decomposed password (NFD)", ["Normalisation"], DECOMPOSED[2].encode(), stream.bytes(20))
    case("salt of 8 bytes", ["ShortSalt"], b"12345678", stream.bytes(20), salt=stream.bytes(8))
    case("salt of 64 bytes", ["Pseudorandom"], b"12345678", stream.bytes(20), salt=stream.bytes(64))


def bad_derived(file, prf, size):
    stream = file.stream
    chance = ("WrongKey", "WrongConstruction", "ModifiedCiphertext", "ModifiedIv", "EmbeddedNul", "NonUtf8",
              "Normalisation", "DeviceScheme")

    def case(comment, flag, change=None, password=None, made=None, padded=None, msg=None):
        """`made` gives the key that the message is made under, when it is not the right one."""
        while True:
            used, salt, iv = password or stream.bytes(14), stream.bytes(16), stream.bytes(16)
            text, rounds = stream.bytes(35) if msg is None else msg, 500
            right = pbkdf2(prf, used, salt, rounds, size)
            key = made(used, salt, rounds) if made else right
            message = iv + (encrypt_blocks(key, iv, padded) if padded else encrypt(key, iv, text))
            message = change(message) if change else message
            try:
                if len(message) > 16:
                    must_refuse(right, message[:16], message[16:])
                break
            except AssertionError:
                assert flag in chance, comment  # refused in 255 of 256 draws
        file.own().invalid(comment, [flag], prf=prf, password=used, salt=salt, iterationCount=rounds, keySize=8 * size,
                           message=message, msg=text)

    for comment, flag, padded, lenient in bad_paddings(stream)[::5]:
        case(comment, flag, padded=padded, msg=lenient)
    for length in (0, 1, 15, 16, 17, 31, 33):
        case(f"message of {length} bytes", "InvalidCiphertextSize", lambda m: m[:length])
    case("last block dropped", "ModifiedCiphertext", lambda m: m[:-16])
    case("last bit flipped", "ModifiedCiphertext", lambda m: flip(m, 8 * len(m) - 1))
    case("IV behind the ciphertext", "ModifiedIv", lambda m: m[16:] + m[:16])
    case("another password", "WrongKey", made=lambda p, s, r: pbkdf2(prf, b"another", s, r, size))
    case("another salt", "WrongKey", made=lambda p, s, r: pbkdf2(prf, p, flip(s, 0), r, size))
    case("one iteration more", "WrongKey", made=lambda p, s, r: pbkdf2(prf, p, s, r + 1, size))
    other = "sha1" if prf == "sha256" else "sha256"
    case(f"made with {other}", "WrongConstruction", made=lambda p, s, r: pbkdf2(other, p, s, r, size))
    case("made under a key of the other size", "WrongConstruction", made=lambda p, s, r: pbkdf2(prf, p, s, r, 48 - size))
    case("password stops at its zero byte", "EmbeddedNul", password=b"1234\x005678",
         made=lambda p, s, r: pbkdf2(prf, p[:4], s, r, size))
    case("password repaired as text", "NonUtf8", password=NON_UTF_8[1][1],
         made=lambda p, s, r: pbkdf2(prf, mended(p), s, r, size))
    case("decomposed password, normalised to NFC", "Normalisation", password=DECOMPOSED[2].encode(),
         made=lambda p, s, r: pbkdf2(prf, COMPOSED[2].encode(), s, r, size))
    device, text = device_secret(stream)
    for comment, made in (("randomString before deviceId", text + device), ("deviceId alone", device),
                          ("randomString alone", text), ("a separator between", device + ":" + text)):
        case(f"device scheme, made with {comment}", "DeviceScheme", password=(device + text).encode(),
             made=lambda p, s, r: pbkdf2(prf, made.encode(), s, r, size))
    for rounds in (0, -1, 1 << 31):
        password, salt, iv, msg = stream.bytes(14), stream.bytes(16), stream.bytes(16), stream.bytes(20)
        message = iv + encrypt(pbkdf2(prf, password, salt, 1, size), iv, msg)
        file.own().invalid(f"{rounds} iterations", ["InvalidIterationCount"], prf=prf, password=password, salt=salt,
                           iterationCount=rounds, keySize=8 * size, message=message, msg=msg)
    if size == 16:
        for bits in (0, 64, 127, 192, 264, 512):
            password, salt, iv, msg = stream.bytes(14), stream.bytes(16), stream.bytes(16), stream.bytes(20)
            key = pbkdf2(prf, password, salt, 500, 24) if bits == 192 else fit_aes_key(
                pbkdf2(prf, password, salt, 500, bits // 8) if bits else b"")
            file.own().invalid(f"key of {bits} bits", ["InvalidKeySize"], prf=prf, password=password, salt=salt,
                               iterationCount=500, keySize=bits, message=iv + encrypt(key, iv, msg), msg=msg)
