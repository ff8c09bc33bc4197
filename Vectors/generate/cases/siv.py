"""AES-SIV over CMAC: RFC 5297 and our own. The strings of associated data are a list."""

from reference import library, pure_aes, pure_siv
from vectorfile import SMALL_SIZES, VectorFile, agree, fit, flip, refused

HEADER = [
    "AES-SIV (RFC 5297). strings: the strings of associated data in their order, a list of hexadecimal texts.",
    "ct = synthetic IV (16 bytes) || ciphertext. valid: sealing gives ct, opening gives msg.",
    "invalid: opening must be refused, or the key has a size that the mode does not have.",
]
KNOWN = (  # section, key, strings, message, sealed
    (
        "A.1",
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
        ("101112131415161718191a1b1c1d1e1f2021222324252627",),
        "112233445566778899aabbccddee",
        "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c",
    ),
    (
        "A.2",
        "7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f",
        (
            "00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100",
            "102030405060708090a0",
            "09f911029d74e35bd84156c5635688c0",
        ),
        "7468697320697320736f6d6520706c61696e7465787420746f20656e6372797074207573696e67205349562d414553",
        "7bdb6e3b432667eb06f4d14bff2fbd0fcb900f2fddbe404326601965c889bf17dba77ceb094fa663b7a3f748ba8af829"
        "ea64ad544a272e9c485b62a3fd5c0d",
    ),
)


def seal(key, strings, msg):
    return agree(pure_siv.siv_encrypt(key, strings, msg), library.siv_encrypt(key, strings, msg))


def files():
    file = VectorFile("aes-siv", "AES-SIV", "Coffer, shape of daead_test_schema_v1.json", "SivTest", HEADER)
    for section, key, strings, msg, sealed in KNOWN:
        key, msg, sealed = (bytes.fromhex(text) for text in (key, msg, sealed))
        strings = [bytes.fromhex(text) for text in strings]
        assert seal(key, strings, msg) == sealed
        put(file.published("RFC 5297 appendix A", keySize=8 * len(key)), "valid", section, ["Published"], key, strings, msg, sealed)
    for key_size in (32, 48, 64):
        good_cases(file, key_size)
        modified(file, key_size)
        wrong_constructions(file, key_size)
    for size in (0, 8, 15, 16, 24, 31, 33, 47, 56, 63, 65, 128):
        key, strings, msg = file.stream.bytes(size), [file.stream.bytes(12)], file.stream.bytes(20)
        fitted = fit(key, max((s for s in (32, 48, 64) if s <= size), default=32))
        add(file, "invalid", f"key of {size} bytes", ["InvalidKeySize"], key, strings, msg, seal(fitted, strings, msg))
    return [file]


def put(group, result, comment, flags, key, strings, msg, ct):
    group.add(result, comment, flags, key=key, strings=[s.hex() for s in strings], msg=msg, ct=ct)


def add(file, result, comment, flags, key, strings, msg, ct):
    if result == "invalid":
        refused(lambda: pure_siv.siv_decrypt(key, strings, ct), lambda: library.siv_decrypt(key, strings, ct))
    put(file.own(keySize=8 * len(key)), result, comment, flags, key, strings, msg, ct)


def good_cases(file, key_size):
    stream = file.stream

    def case(comment, flags, strings, msg, key=None):
        key = key or stream.bytes(key_size)
        add(file, "valid", comment, flags, key, strings, msg, seal(key, strings, msg))

    for size in SMALL_SIZES[: 23 if key_size == 32 else 14]:
        case(f"message of {size} bytes, one string of 12", ["Pseudorandom"], [stream.bytes(12)], stream.bytes(size))
    for size in (0, 1, 15, 16, 17, 32, 255):
        case(f"string of {size} bytes", ["Pseudorandom"], [stream.bytes(size)], stream.bytes(21))
    for count in (0, 2, 3, 7):
        strings = [stream.bytes(5 + n) for n in range(count)]
        case(f"{count} strings", ["Pseudorandom"], strings, stream.bytes(21))
        case(f"{count} strings and no message", ["EdgeCase"], strings, b"")
    case("three empty strings", ["EdgeCase"], [b"", b"", b""], stream.bytes(21))
    case("key and message of zeros", ["EdgeCase"], [bytes(16)], bytes(32), bytes(key_size))
    case("key and message of ones", ["EdgeCase"], [b"\xff" * 16], b"\xff" * 32, b"\xff" * key_size)


def modified(file, key_size):
    stream = file.stream
    key, strings, msg = stream.bytes(key_size), [stream.bytes(20), stream.bytes(12)], stream.bytes(40)
    ct = seal(key, strings, msg)

    def case(comment, flag, wrong=ct, other=strings, under=key):
        add(file, "invalid", comment, [flag], under, other, msg, wrong)

    for bit in (0, 7, 8, 31, 32, 63, 64, 71, 96, 103, 127):
        case(f"bit {bit} of the synthetic IV flipped", "ModifiedTag", flip(ct, bit))
    case("synthetic IV of zeros", "ModifiedTag", bytes(16) + ct[16:])
    case("synthetic IV of another message", "ModifiedTag", seal(key, strings, b"another")[:16] + ct[16:])
    case("synthetic IV behind the ciphertext", "ModifiedTag", ct[16:] + ct[:16])
    for bit in (0, 100, 319):
        case(f"bit {bit} of the ciphertext flipped", "ModifiedCiphertext", ct[:16] + flip(ct[16:], bit))
    case("last byte dropped", "ModifiedCiphertext", ct[:-1])
    case("a zero byte added", "ModifiedCiphertext", ct + b"\0")
    case("blocks exchanged", "ModifiedCiphertext", ct[:16] + ct[32:48] + ct[16:32] + ct[48:])
    case("no ciphertext", "ModifiedCiphertext", ct[:16])
    for size in (0, 1, 8, 15):
        case(f"cut to {size} bytes", "InvalidCiphertextSize", ct[:size])
    one, two = strings
    for comment, other in (
        ("strings exchanged", [two, one]),
        ("strings joined", [one + two]),
        ("a byte moved from the first string to the second", [one[:-1], one[-1:] + two]),
        ("first string left out", [two]),
        ("last string left out", [one]),
        ("no strings", []),
        ("an empty string added", [one, two, b""]),
        ("an empty string in front", [b"", one, two]),
        ("last string twice", [one, two, two]),
        ("bit 0 of the first string flipped", [flip(one, 0), two]),
        ("a zero byte after the last string", [one, two + b"\0"]),
    ):
        case(comment, "ModifiedAad", other=other)
    none = seal(key, [], msg)
    case("one empty string where there was none", "ModifiedAad", none, [b""])
    case("no string where there was an empty one", "ModifiedAad", seal(key, [b""], msg), [])
    empty = seal(key, strings, b"")
    case("no message, an empty string added", "ModifiedAad", empty, [one, two, b""])
    case("no message, bit 0 of the synthetic IV flipped", "ModifiedTag", flip(empty, 0))
    case("first bit of the key flipped", "WrongKey", under=flip(key, 0))
    case("last bit of the key flipped", "WrongKey", under=flip(key, 8 * key_size - 1))
    case("halves of the key exchanged", "WrongKey", under=key[key_size // 2 :] + key[: key_size // 2])


def wrong_constructions(file, key_size):
    stream, half = file.stream, key_size // 2
    key, strings, msg = stream.bytes(key_size), [stream.bytes(20)], stream.bytes(40)
    mac, enc = key[:half], key[half:]
    right = seal(key, strings, msg)

    def case(comment, iv, body=None):
        wrong = iv + (pure_siv._stream(enc, iv, msg) if body is None else body)
        assert wrong != right, comment
        add(file, "invalid", comment, ["WrongConstruction"], key, strings, msg, wrong)

    zero, one = pure_siv.cmac(mac, bytes(16)), pure_siv.cmac(mac, strings[0])
    state = pure_aes.xor(pure_siv.double(zero), one)

    def end(state):
        return pure_siv.cmac(mac, msg[:-16] + pure_aes.xor(msg[-16:], state))

    case("no doubling", end(pure_aes.xor(zero, one)))
    case("doubled once more before the message", end(pure_siv.double(state)))
    case("without the CMAC of zeros", end(one))
    case("state added at the message's start", pure_siv.cmac(mac, pure_aes.xor(msg[:16], state) + msg[16:]))
    case("CMAC of everything joined", pure_siv.cmac(mac, strings[0] + msg))
    case("CMAC of the message alone", pure_siv.cmac(mac, msg))
    case("doubling without reduction", end(pure_aes.xor(
        ((int.from_bytes(zero, "big") << 1) % (1 << 128) ^ 2).to_bytes(16, "big"), one)))
    case("under the second half of the key", pure_siv.s2v(enc, strings, msg))
    iv = right[:16]
    counter = int.from_bytes(iv, "big")
    cipher = pure_aes.AES(enc)
    plain = b"".join(cipher.encrypt(((counter + i) % (1 << 128)).to_bytes(16, "big")) for i in range(3))
    if counter & (1 << 63 | 1 << 31):
        case("counter with bits 31 and 63 as they are", iv, pure_aes.xor(plain[:40], msg))
    case("not encrypted", iv, msg)
    case("encrypted from a counter one higher", iv, pure_siv._stream(enc, (counter + 1).to_bytes(16, "big"), msg))
