"""A128CBC-HS256, A192CBC-HS384 and A256CBC-HS512 of JOSE: RFC 7518 and our own."""

from cases.cbc import encrypt_blocks
from cases.mac import hmac
from cases.padding import bad_paddings
from reference import library, pure_siv
from vectorfile import SMALL_SIZES, VectorFile, agree, fit, flip, refused

HEADER = [
    "RFC 7518 section 5.2: MAC_KEY and ENC_KEY are the halves of key, ct = AES-CBC with PKCS #5 padding,",
    "tag = the first half of HMAC(MAC_KEY, aad || iv || ct || be64(bits in aad)).",
    "valid: sealing gives ct and tag, opening gives msg. invalid: opening must be refused, with one error for all.",
]
SOURCE = "RFC 7518 appendix B"
MESSAGE = (
    b"A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy "
    b"without inconvenience"
)
IV, AAD = bytes.fromhex("1af38c2dc2b96ffdd86694092341bc04"), b"The second principle of Auguste Kerckhoffs"
KNOWN = {  # section, ciphertext, tag; the key is 00 01 02 ...
    "A128CBC-HS256": (
        "B.1",
        "c80edfa32ddf39d5ef00c0b468834279a2e46a1b8049f792f76bfe54b903a9c9a94ac9b47ad2655c5f10f9aef71427e2"
        "fc6f9b3f399a221489f16362c703233609d45ac69864e3321cf82935ac4096c86e133314c54019e8ca7980dfa4b9cf1b"
        "384c486f3a54c51078158ee5d79de59fbd34d848b3d69550a67646344427ade54b8851ffb598f7f80074b9473c82e2db",
        "652c3fa36b0a7c5b3219fab3a30bc1c4",
    ),
    "A192CBC-HS384": (
        "B.2",
        "ea65da6b59e61edb419be62d19712ae5d303eeb50052d0dfd6697f77224c8edb000d279bdc14c1072654bd30944230c6"
        "57bed4ca0c9f4a8466f22b226d1746214bf8cfc2400add9f5126e479663fc90b3bed787a2f0ffcbf3904be2a641d5c21"
        "05bfe591bae23b1d7449e532eef60a9ac8bb6c6b01d35d49787bcd57ef484927f280adc91ac0c4e79c7b11efc60054e3",
        "8490ac0e58949bfe51875d733f93ac2075168039ccc733d7",
    ),
    "A256CBC-HS512": (
        "B.3",
        "4affaaadb78c31c5da4b1b590d10ffbd3dd8d5d302423526912da037ecbcc7bd822c301dd67c373bccb584ad3e9279c2"
        "e6d12a1374b77f077553df829410446b36ebd97066296ae6427ea75c2e0846a11a09ccf5370dc80bfecbad28c73f09b3"
        "a3b75e662a2594410ae496b2e2e6609e31e6e02cc837f053d21f37ff4f51950bbe2638d09dd7a4930930806d0703b1f6",
        "4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5",
    ),
}


def files():
    return [build(name) for name in KNOWN]


class Family:
    """One algorithm, and its file."""

    def __init__(self, name):
        self.name = name
        self.digest, self.size = library.JOSE[name]
        self.file = VectorFile(name.lower(), name, "aead_test_schema_v1.json", "AeadTest", HEADER)
        self.stream = self.file.stream

    def seal(self, key, aad, iv, msg):
        return agree(
            pure_siv.jose_encrypt(self.name, key, iv, aad, msg),
            library.jose_encrypt(self.name, key, iv, aad, msg),
        )

    def tag(self, mac_key, data):
        return hmac(self.digest, mac_key, data)[: self.size]

    def add(self, result, comment, flags, key, aad, iv, msg, ct, tag):
        if result == "invalid":
            refused(
                lambda: pure_siv.jose_decrypt(self.name, key, iv, aad, ct, tag),
                lambda: library.jose_decrypt(self.name, key, iv, aad, ct, tag),
            )
        self.file.own(keySize=8 * len(key), ivSize=8 * len(iv), tagSize=8 * len(tag)).add(
            result, comment, flags, key=key, aad=aad, iv=iv, msg=msg, ct=ct, tag=tag
        )

    def fresh(self, aad_size=20, msg_size=40):
        stream = self.stream
        key, aad, iv, msg = (stream.bytes(n) for n in (2 * self.size, aad_size, 16, msg_size))
        return key, aad, iv, msg, *self.seal(key, aad, iv, msg)


def build(name):
    family = Family(name)
    section, ct, tag = KNOWN[name]
    key, ct, tag = bytes(range(2 * family.size)), bytes.fromhex(ct), bytes.fromhex(tag)
    assert family.seal(key, AAD, IV, MESSAGE) == (ct, tag)
    family.file.published(SOURCE, keySize=8 * len(key), ivSize=128, tagSize=8 * len(tag)).valid(
        section, ["Published"], key=key, aad=AAD, iv=IV, msg=MESSAGE, ct=ct, tag=tag
    )
    good_cases(family)
    modified(family)
    resized(family)
    wrong_constructions(family)
    authenticated_nonsense(family)
    return family.file


def good_cases(family):
    stream = family.stream

    def case(comment, flags, aad, msg, key=None, iv=None):
        key, iv = key or stream.bytes(2 * family.size), iv or stream.bytes(16)
        family.add("valid", comment, flags, key, aad, iv, msg, *family.seal(key, aad, iv, msg))

    for size in SMALL_SIZES:
        case(f"message of {size} bytes, header of 12", ["Pseudorandom"], stream.bytes(12), stream.bytes(size))
    for size in (0, 1, 8, 16, 31, 32, 33, 255, 256):
        case(f"header of {size} bytes", ["Pseudorandom"], stream.bytes(size), stream.bytes(21))
    for size in (1024, 4095):
        case(f"message of {size} bytes", ["Pseudorandom", "LargeMessage"], stream.bytes(12), stream.bytes(size))
    case("no header, no message", ["EdgeCase"], b"", b"")
    case("IV of zeros", ["EdgeCase"], b"", stream.bytes(20), iv=bytes(16))
    case("key of zeros", ["EdgeCase"], b"", stream.bytes(20), key=bytes(2 * family.size))
    case("key of ones", ["EdgeCase"], b"", stream.bytes(20), key=b"\xff" * 2 * family.size)


def modified(family):
    key, aad, iv, msg, ct, tag = family.fresh()

    def case(comment, flag, **changed):
        values = {"key": key, "aad": aad, "iv": iv, "msg": msg, "ct": ct, "tag": tag, **changed}
        family.add("invalid", comment, [flag], **values)

    last = 8 * family.size - 1
    for bit in (0, 1, 7, 8, 31, 63, 64, 127, last - 7, last):
        case(f"bit {bit} of the tag flipped", "ModifiedTag", tag=flip(tag, bit))
    case("tag of zeros", "ModifiedTag", tag=bytes(family.size))
    case("tag of ones", "ModifiedTag", tag=b"\xff" * family.size)
    case("tag reversed", "ModifiedTag", tag=tag[::-1])
    other = family.seal(key, aad, iv, b"another")[1]
    case("tag of another message under the same key", "ModifiedTag", tag=other)
    for bit in (0, 63, 127):
        case(f"bit {bit} of the IV flipped", "ModifiedIv", iv=flip(iv, bit))
    for bit in (0, 127, 128, 255, 383):
        case(f"bit {bit} of the ciphertext flipped", "ModifiedCiphertext", ct=flip(ct, bit))
    for comment, wrong in (
        ("last block dropped", ct[:-16]),
        ("first block dropped", ct[16:]),
        ("no ciphertext", b""),
        ("blocks exchanged", ct[16:32] + ct[:16] + ct[32:]),
        ("a block of zeros added", ct + bytes(16)),
    ):
        case(comment, "ModifiedCiphertext", ct=wrong)
    for comment, wrong in (
        ("bit 0 of the header flipped", flip(aad, 0)),
        ("no header", b""),
        ("header without its last byte", aad[:-1]),
        ("a zero byte after the header", aad + b"\0"),
        ("header doubled", aad + aad),
    ):
        case(comment, "ModifiedAad", aad=wrong)
    for bit in (0, 8 * family.size - 1, 8 * family.size, 16 * family.size - 1):
        if bit < 8 * family.size:
            case(f"bit {bit} of the key flipped", "WrongKey", key=flip(key, bit))
    case("halves of the key exchanged", "WrongKey", key=key[family.size :] + key[: family.size])
    key, aad, iv, msg, ct, tag = family.fresh(32)
    joined = aad + iv + ct
    for moved in (-16, -1, 1, 16):
        cut = len(aad) + moved
        case(
            f"{moved} bytes moved between header, IV and ciphertext",
            "Boundary",
            key=key,
            aad=joined[:cut],
            iv=joined[cut : cut + 16],
            msg=msg,
            ct=joined[cut + 16 :],
            tag=tag,
        )


def resized(family):
    stream, size = family.stream, family.size
    for count in (0, 1, 8, size // 2, size - 1, size + 1, 2 * size):
        key, aad, iv, msg, ct, tag = family.fresh(12, 20)
        whole = hmac(family.digest, key[:size], aad + iv + ct + (8 * len(aad)).to_bytes(8, "big"))
        family.add("invalid", f"tag of {count} bytes", ["InvalidTagSize"], key, aad, iv, msg, ct, whole[:count])
    for count in (0, 8, 12, 15, 17, 32):
        key, aad, iv, msg = stream.bytes(2 * size), stream.bytes(12), stream.bytes(count), stream.bytes(20)
        ct = library.cbc_encrypt(key[size:], fit(iv, 16), msg)
        tag = family.tag(key[:size], aad + iv + ct + (8 * len(aad)).to_bytes(8, "big"))
        comment = f"IV of {count} bytes under a correct MAC"
        family.add("invalid", comment, ["InvalidIvSize"], key, aad, iv, msg, ct, tag)
    for count in (0, 16, size, 2 * size - 1, 2 * size + 1, 3 * size):
        key, aad, iv, msg = stream.bytes(count), stream.bytes(12), stream.bytes(16), stream.bytes(20)
        sealed = family.seal(fit(key, 2 * size), aad, iv, msg)
        comment = f"key of {count} bytes, sealed under it cut or zero-filled"
        family.add("invalid", comment, ["InvalidKeySize"], key, aad, iv, msg, *sealed)


def wrong_constructions(family):
    size = family.size

    def case(comment, build):
        key, aad, iv, msg, ct, tag = family.fresh()
        wrong = build(key[:size], aad, iv, ct, key, msg)
        assert wrong != tag, comment
        family.add("invalid", comment, ["WrongConstruction"], key, aad, iv, msg, ct, wrong)

    def be64(number):
        return number.to_bytes(8, "big")

    def length(aad):
        return be64(8 * len(aad))

    tag = family.tag
    case("length of the header in bytes", lambda k, a, i, c, *_: tag(k, a + i + c + be64(len(a))))
    case("length in little-endian order", lambda k, a, i, c, *_: tag(k, a + i + c + length(a)[::-1]))
    case("length in front, as in CBC-HMAC", lambda k, a, i, c, *_: tag(k, length(a) + a + i + c))
    case("without the length", lambda k, a, i, c, *_: tag(k, a + i + c))
    case("without the header", lambda k, a, i, c, *_: tag(k, i + c + length(a)))
    case("without the IV", lambda k, a, i, c, *_: tag(k, a + c + length(a)))
    case("without the ciphertext", lambda k, a, i, c, *_: tag(k, a + i + length(a)))
    case("ciphertext before the IV", lambda k, a, i, c, *_: tag(k, a + c + i + length(a)))
    case("MAC of the plaintext", lambda k, a, i, c, key, m: tag(k, a + i + m + length(a)))
    case("MAC under the second half", lambda k, a, i, c, key, m: tag(key[size:], a + i + c + length(a)))
    case("MAC under the whole key", lambda k, a, i, c, key, m: tag(key, a + i + c + length(a)))
    case(
        "last half of the HMAC",
        lambda k, a, i, c, *_: hmac(family.digest, k, a + i + c + length(a))[-size:],
    )


def authenticated_nonsense(family):
    """A correct MAC over what cannot be decrypted: only the right key makes these, and they are refused alike."""
    stream, size = family.stream, family.size

    def case(comment, flag, build, msg):
        key, aad, iv = stream.bytes(2 * size), stream.bytes(12), stream.bytes(16)
        ct = build(key[size:], iv)
        tag = family.tag(key[:size], aad + iv + ct + (8 * len(aad)).to_bytes(8, "big"))
        family.add("invalid", "correct MAC: " + comment, [flag], key, aad, iv, msg, ct, tag)

    for comment, flag, padded, lenient in bad_paddings(stream):
        case(comment, flag, lambda k, i: encrypt_blocks(k, i, padded), lenient)
    text = stream.bytes(40)
    for count in (0, 1, 15, 17, 31, 33):
        case(
            f"ciphertext of {count} bytes",
            "InvalidCiphertextSize",
            lambda k, i: library.cbc_encrypt(k, i, text)[:count],
            b"",
        )
