"""DOCUMENTED-CBC and PBKDF2-CBC: CBC with the IV in front, under a given key or one from PBKDF2."""

import base64

from cases.cbc import encrypt, encrypt_blocks, must_refuse
from cases.documented_key import documented_key
from cases.padding import bad_paddings, padding_lookalikes
from cases.passwords import COMPOSED, DECOMPOSED, NON_UTF_8, mended
from cases.pbkdf2 import pbkdf2
from vectorfile import SMALL_SIZES, VectorFile, fit_aes_key, flip

CBC_HEADER = [
    "message = IV (16) || AES-CBC with PKCS #5 padding of msg under key, which has 16 or 32 bytes.",
    "valid: decryption of message gives msg, and encryption of msg with that IV gives message.",
    "invalid: decryption must be refused.",
]
PBKDF2_HEADER = [
    "key = PBKDF2-HMAC-prf(password, salt, iterationCount) to keySize bits (128 or 256);",
    "message = IV (16) || AES-CBC with PKCS #5 padding of msg under key.",
    "valid: decryption of message gives msg, and encryption of msg with that IV gives message.",
    "invalid: decryption must be refused.",
]


def files():
    return [cbc_file(), pbkdf2_file()]


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
        file.own(keySize=8 * size, ivSize=128).invalid(
            f"key of {size} bytes{note}",
            ["InvalidKeySize"],
            key=key,
            message=iv + encrypt(used, iv, msg),
            msg=msg,
        )
    return file


def good_messages(file, size):
    stream = file.stream

    def case(comment, flags, msg, iv=None, key=None):
        key, iv = key or stream.bytes(size), iv or stream.bytes(16)
        file.own(keySize=8 * size, ivSize=128).valid(
            comment, flags, key=key, message=iv + encrypt(key, iv, msg), msg=msg
        )

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
            case(
                f"under the documented key of UUID {uuid} and passcode {passcode or '(none)'}",
                ["Pseudorandom"],
                b"the documented scheme, from passcode to ciphertext",
                key=documented_key(uuid, passcode),
            )


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
    into.invalid(
        "a zero byte after the message", ["InvalidCiphertextSize"], key=key, message=message + b"\0", msg=msg
    )

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
    case(
        "last pad byte changed through the block before",
        "ModifiedCiphertext",
        lambda k, m: (k, flip(m, 8 * len(m) - 129)),
    )
    case("another key", "WrongKey", lambda k, m: (stream.bytes(size), m))
    case("one bit of the key flipped", "WrongKey", lambda k, m: (flip(k, 0), m))
    key, iv, msg = stream.bytes(size), stream.bytes(16), stream.bytes(9)
    message = flip(iv, 127) + encrypt(key, iv, msg)
    must_refuse(key, message[:16], message[16:])
    into.invalid(
        "one block, last bit of the IV flipped: the last pad byte changes",
        ["ModifiedIv"],
        key=key,
        message=message,
        msg=msg,
    )
    if size == 32:
        uuid = stream.uuid()
        message = iv + encrypt(documented_key(uuid, "1234"), iv, msg)
        key = documented_key(uuid, "1235")
        must_refuse(key, message[:16], message[16:])
        into.invalid(
            "documented keys of the same UUID, passcode 1235 for 1234",
            ["WrongKey"],
            key=key,
            message=message,
            msg=msg,
        )


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
        file.own().valid(
            comment,
            flags,
            prf=prf,
            password=password,
            salt=salt,
            iterationCount=rounds,
            keySize=8 * size,
            message=message,
            msg=msg,
        )

    for length in (0, 15, 16, 33):
        case(f"message of {length} bytes", ["Pseudorandom"], stream.bytes(14), stream.bytes(length))
    for rounds in (1, 2, 4096, 5000):
        case(f"{rounds} iterations", ["Pseudorandom"], stream.bytes(14), stream.bytes(20), rounds=rounds)
    for number in range(3):
        device, text = device_secret(stream)
        case(
            f"device scheme: password = utf8(deviceId || randomString), deviceId {device}, randomString {text}",
            ["DeviceScheme"],
            (device + text).encode(),
            stream.bytes(25),
        )
    device = "ger\u00e4t-\u0031"
    case(
        "device scheme: password = utf8(deviceId || randomString), deviceId g e r U+00E4 t - 1, randomString xyz",
        ["DeviceScheme", "Unicode"],
        (device + "xyz").encode(),
        stream.bytes(25),
    )
    case("empty password", ["EmptyPassword"], b"", stream.bytes(20))
    case("zero byte inside the password", ["EmbeddedNul"], b"1234\x005678", stream.bytes(20))
    case("password that is not UTF-8", ["NonUtf8"], NON_UTF_8[0][1], stream.bytes(20))
    case("composed password (NFC)", ["Normalisation"], COMPOSED[2].encode(), stream.bytes(20))
    case("decomposed password (NFD)", ["Normalisation"], DECOMPOSED[2].encode(), stream.bytes(20))
    case("salt of 8 bytes", ["ShortSalt"], b"12345678", stream.bytes(20), salt=stream.bytes(8))
    case("salt of 64 bytes", ["Pseudorandom"], b"12345678", stream.bytes(20), salt=stream.bytes(64))


def bad_derived(file, prf, size):
    stream = file.stream
    chance = (
        "WrongKey",
        "WrongConstruction",
        "ModifiedCiphertext",
        "ModifiedIv",
        "EmbeddedNul",
        "NonUtf8",
        "Normalisation",
        "DeviceScheme",
    )

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
        file.own().invalid(
            comment,
            [flag],
            prf=prf,
            password=used,
            salt=salt,
            iterationCount=rounds,
            keySize=8 * size,
            message=message,
            msg=text,
        )

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
    case(
        "made under a key of the other size",
        "WrongConstruction",
        made=lambda p, s, r: pbkdf2(prf, p, s, r, 48 - size),
    )
    case(
        "password stops at its zero byte",
        "EmbeddedNul",
        password=b"1234\x005678",
        made=lambda p, s, r: pbkdf2(prf, p[:4], s, r, size),
    )
    case(
        "password repaired as text",
        "NonUtf8",
        password=NON_UTF_8[1][1],
        made=lambda p, s, r: pbkdf2(prf, mended(p), s, r, size),
    )
    case(
        "decomposed password, normalised to NFC",
        "Normalisation",
        password=DECOMPOSED[2].encode(),
        made=lambda p, s, r: pbkdf2(prf, COMPOSED[2].encode(), s, r, size),
    )
    device, text = device_secret(stream)
    for comment, made in (
        ("randomString before deviceId", text + device),
        ("deviceId alone", device),
        ("randomString alone", text),
        ("a separator between", device + ":" + text),
    ):
        case(
            f"device scheme, made with {comment}",
            "DeviceScheme",
            password=(device + text).encode(),
            made=lambda p, s, r: pbkdf2(prf, made.encode(), s, r, size),
        )
    for rounds in (0, -1, 1 << 31):
        password, salt, iv, msg = stream.bytes(14), stream.bytes(16), stream.bytes(16), stream.bytes(20)
        message = iv + encrypt(pbkdf2(prf, password, salt, 1, size), iv, msg)
        file.own().invalid(
            f"{rounds} iterations",
            ["InvalidIterationCount"],
            prf=prf,
            password=password,
            salt=salt,
            iterationCount=rounds,
            keySize=8 * size,
            message=message,
            msg=msg,
        )
    if size == 16:
        for bits in (0, 64, 127, 192, 264, 512):
            password, salt, iv, msg = stream.bytes(14), stream.bytes(16), stream.bytes(16), stream.bytes(20)
            key = (
                pbkdf2(prf, password, salt, 500, 24)
                if bits == 192
                else fit_aes_key(pbkdf2(prf, password, salt, 500, bits // 8) if bits else b"")
            )
            file.own().invalid(
                f"key of {bits} bits",
                ["InvalidKeySize"],
                prf=prf,
                password=password,
                salt=salt,
                iterationCount=500,
                keySize=bits,
                message=iv + encrypt(key, iv, msg),
                msg=msg,
            )
