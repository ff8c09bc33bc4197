"""HKDF with SHA-1, SHA-256, SHA-384 and SHA-512: RFC 5869 and our own."""

from reference import library, pure_hash
from vectorfile import VectorFile, agree, flip, refused

HEADER = [
    "HKDF, extract and expand.",
    "valid: size bytes from ikm, salt and info are okm.",
    "invalid: size is refused, or the result must be seen to differ from okm.",
]


def span(first, last):
    return bytes(range(first, last + 1)).hex()


SHORT = ("000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9")
RFC_5869 = (  # hash, ikm, salt, info, okm
    (
        "sha256",
        "0b" * 22,
        *SHORT,
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        "sha256",
        span(0, 0x4F),
        span(0x60, 0xAF),
        span(0xB0, 0xFF),
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
        "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
    ),
    (
        "sha256",
        "0b" * 22,
        "",
        "",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
    (
        "sha1",
        "0b" * 11,
        *SHORT,
        "085a01ea1b10f36933068b56efa5ad81a4f14b822f5b091568a9cdd4f155fda2c22e422478d305f3f896",
    ),
    (
        "sha1",
        span(0, 0x4F),
        span(0x60, 0xAF),
        span(0xB0, 0xFF),
        "0bd770a74d1160f7c9f12cd5912a06ebff6adcae899d92191fe4305673ba2ffe8fa3f1a4e5ad79f3f334b3b202b2173c"
        "486ea37ce3d397ed034c7f9dfeb15c5e927336d0441f4c4300e2cff0d0900b52d3b4",
    ),
    (
        "sha1",
        "0b" * 22,
        "",
        "",
        "0ac1af7002b3d761d1e55298da9d0506b9ae52057220a306e07b6b87e8df21d0ea00033de03984d34918",
    ),
    (
        "sha1",
        "0c" * 22,
        "",
        "",
        "2c91117204d745f3500d636a62f64f0ab3bae548aa53d423b0d1f27ebba6f5e5673a081d70cce7acfc48",
    ),
)


def hkdf(name, *inputs):
    return agree(pure_hash.hkdf(name, *inputs), library.hkdf(name, *inputs))


def files():
    return [build(name) for name in ("sha1", "sha256", "sha384", "sha512")]


def build(name):
    file = VectorFile(
        "hkdf-" + name, "HKDF-SHA-" + name[3:], "fields of hkdf_test_schema_v1.json", "HkdfTest", HEADER
    )
    for number, (digest, ikm, salt, info, okm) in enumerate(RFC_5869, 1):
        if digest == name:
            ikm, salt, info = map(bytes.fromhex, (ikm, salt, info))
            size = len(okm) // 2
            assert hkdf(name, ikm, salt, info, size).hex() == okm, number
            comment = f"test case {number}" + (", salt not provided" if number == 7 else "")
            file.published("RFC 5869 Appendix A", keySize=8 * len(ikm)).valid(
                comment, ["Published"], ikm=ikm, salt=salt, info=info, size=size, okm=okm
            )
    good_cases(file, name)
    bad_sizes(file, name)
    bad_outputs(file, name)
    return file


def good_cases(file, name):
    stream, length, block = file.stream, pure_hash.SIZE[name], pure_hash.BLOCK[name]

    def case(comment, flags, ikm, salt, info, size):
        file.own(keySize=8 * len(ikm)).valid(
            comment, flags, ikm=ikm, salt=salt, info=info, size=size, okm=hkdf(name, ikm, salt, info, size)
        )

    for size in sorted(
        {1, 16, 20, 32, 48, 64, length - 1, length, length + 1, 2 * length, 2 * length + 1, 140}
    ):
        case(
            f"output of {size} bytes",
            ["Pseudorandom"],
            stream.bytes(32),
            stream.bytes(16),
            stream.bytes(12),
            size,
        )
    for size in (1, 15, 16, 24, block, block + 1):
        case(
            f"keying material of {size} bytes",
            ["Pseudorandom"],
            stream.bytes(size),
            stream.bytes(16),
            stream.bytes(12),
            32,
        )
    for size in (1, 8, length, block, block + 1):
        case(
            f"salt of {size} bytes",
            ["Pseudorandom"],
            stream.bytes(32),
            stream.bytes(size),
            stream.bytes(12),
            32,
        )
    for size in (1, 64, 200):
        case(
            f"info of {size} bytes",
            ["Pseudorandom"],
            stream.bytes(32),
            stream.bytes(16),
            stream.bytes(size),
            50,
        )
    case("no salt and no info", ["Pseudorandom"], stream.bytes(32), b"", b"", 50)
    case("no info", ["Pseudorandom"], stream.bytes(32), stream.bytes(32), b"", 50)
    ikm, info = stream.bytes(32), stream.bytes(10)
    case("no salt", ["EdgeCase"], ikm, b"", info, 40)
    case(
        "salt of as many zeros as the hash has bytes: the same as none",
        ["EdgeCase"],
        ikm,
        bytes(length),
        info,
        40,
    )
    assert hkdf(name, ikm, b"", info, 40) == hkdf(name, ikm, bytes(length), info, 40)
    case(
        "longest output, 255 hash lengths",
        ["EdgeCase", "LargeMessage"],
        stream.bytes(32),
        stream.bytes(16),
        stream.bytes(4),
        255 * length,
    )
    file.own(keySize=0).acceptable(
        "empty keying material",
        ["EmptyKey"],
        ikm=b"",
        salt=b"salt",
        info=b"info",
        size=32,
        okm=hkdf(name, b"", b"salt", b"info", 32),
    )


def bad_sizes(file, name):
    stream, length = file.stream, pure_hash.SIZE[name]
    for size in (0, -1, 255 * length + 1, 256 * length, 1 << 31, 1 << 32):
        ikm, salt, info = stream.bytes(32), stream.bytes(16), stream.bytes(8)
        refused(
            lambda: pure_hash.hkdf(name, ikm, salt, info, size),
            lambda: library.hkdf(name, ikm, salt, info, size),
        )
        file.own(keySize=256).invalid(
            f"output of {size} bytes",
            ["InvalidOutputSize"],
            ikm=ikm,
            salt=salt,
            info=info,
            size=size,
            okm=b"",
        )


def bad_outputs(file, name):
    stream, length = file.stream, pure_hash.SIZE[name]

    def case(comment, flag, build, size=42):
        ikm, salt, info = stream.bytes(32), stream.bytes(24), stream.bytes(16)
        wrong = build(ikm, salt, info, size)
        assert wrong != hkdf(name, ikm, salt, info, size)
        file.own(keySize=256).invalid(comment, [flag], ikm=ikm, salt=salt, info=info, size=size, okm=wrong)

    def by_hand(prk, info, size, start=1, chained=True):
        out, block = b"", b""
        for i in range(start, start + -(-size // length)):
            block = pure_hash.hmac(name, prk, (block if chained else b"") + info + bytes([i]))
            out += block
        return out[:size]

    for bit in (0, 135, 335):
        case(f"bit {bit} of the output flipped", "ModifiedOutput", lambda *a: flip(hkdf(name, *a), bit))
    case("output short of its last byte", "InvalidOutputSize", lambda *a: hkdf(name, *a)[:-1])
    case(
        "output one byte longer than size", "InvalidOutputSize", lambda k, s, i, n: hkdf(name, k, s, i, n + 1)
    )
    case("no output", "InvalidOutputSize", lambda *a: b"")
    wrong = "WrongConstruction"
    case("salt and info exchanged", wrong, lambda k, s, i, n: hkdf(name, k, i, s, n))
    case("salt and keying material exchanged", wrong, lambda k, s, i, n: hkdf(name, s, k, i, n))
    case("salt ignored", wrong, lambda k, s, i, n: hkdf(name, k, b"", i, n))
    case("info ignored", wrong, lambda k, s, i, n: hkdf(name, k, s, b"", n))
    case("expanded without extraction", wrong, lambda k, s, i, n: by_hand(k, i, n))
    case("extracted without expansion", wrong, lambda k, s, i, n: pure_hash.hmac(name, s, k), length)
    case("block counter from 0", wrong, lambda k, s, i, n: by_hand(pure_hash.hmac(name, s, k), i, n, start=0))
    case(
        "blocks not chained",
        wrong,
        lambda k, s, i, n: by_hand(pure_hash.hmac(name, s, k), i, n, chained=False),
        2 * length,
    )
