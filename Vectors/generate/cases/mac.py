"""HMAC with SHA-1, SHA-256, SHA-384 and SHA-512: RFC 2202, RFC 4231 and our own."""

from reference import library, pure_hash
from vectorfile import LARGE_SIZES, VectorFile, agree, flip

HEADER = [
    "HMAC. The group's tagSize is the length that is expected: the tag is cut to it.",
    "valid: computing gives tag.",
    "invalid: tag must not verify. A tag of another length than tagSize is invalid whatever its bytes.",
]

LONG_KEY = b"\xaa" * 131
RFC_4231 = (  # key, message, tags of SHA-256, SHA-384, SHA-512
    (
        b"\x0b" * 20,
        b"Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
        "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
        "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
    ),
    (
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
        "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
    ),
    (
        b"\xaa" * 20,
        b"\xdd" * 50,
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
        "88062608d3e6ad8a0aa2ace014c8a86f0aa635d947ac9febe83ef4e55966144b2a5ab39dc13814b94e3ab6e101a34f27",
        "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39"
        "bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb",
    ),
    (
        bytes(range(1, 26)),
        b"\xcd" * 50,
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
        "3e8a69b7783c25851933ab6290af6ca77a9981480850009cc5577c6e1f573b4e6801dd23c4a7d679ccf8a386c674cffb",
        "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3db"
        "a91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd",
    ),
    (
        b"\x0c" * 20,
        b"Test With Truncation",
        "a3b6167473100ee06e0c796c2955552b",
        "3abf34c3503b2a23a46efc619baef897",
        "415fad6271580a531d4179bc891d87a6",
    ),
    (
        LONG_KEY,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952",
        "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
        "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
    ),
    (
        LONG_KEY,
        b"This is a test using a larger than block-size key and a larger than block-size data. "
        b"The key needs to be hashed before being used by the HMAC algorithm.",
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
        "6617178e941f020d351e2f254e8fd32c602420feb0b8fb9adccebb82461e99c5a678cc31e799176d3860e6110c46523e",
        "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944"
        "b6022cac3c4982b10d5eeb55c3e4de15134676fb6de0446065c97440fa8c6a58",
    ),
)
RFC_2202 = (  # section 3, HMAC-SHA-1
    (b"\x0b" * 20, b"Hi There", "b617318655057264e28bc0b6fb378c8ef146be00"),
    (b"Jefe", b"what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
    (b"\xaa" * 20, b"\xdd" * 50, "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
    (bytes(range(1, 26)), b"\xcd" * 50, "4c9007f4026250c6bc8414f9bf50c86c2d7235da"),
    (b"\x0c" * 20, b"Test With Truncation", "4c1a03424b55e07fe7f27be1"),
    (
        b"\xaa" * 80,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "aa4ae5e15272d00e95705637ce8a3b55ed402112",
    ),
    (
        b"\xaa" * 80,
        b"Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data",
        "e8e99d0f45237d786d6bbaa7965c7808bbff1a91",
    ),
)


def hmac(name, key, msg):
    return agree(pure_hash.hmac(name, key, msg), library.hmac(name, key, msg))


def files():
    return [build(name) for name in ("sha1", "sha256", "sha384", "sha512")]


def build(name):
    file = VectorFile(
        "hmac-" + name, "HMAC" + name.upper(), "fields of mac_test_schema_v1.json", "MacTest", HEADER
    )
    published(file, name)
    size, block = pure_hash.SIZE[name], pure_hash.BLOCK[name]
    good_cases(file, name, size, block)
    for tag_size in (size, size // 2):
        bad_tags(file, name, tag_size)
    wrong_constructions(file, name, size, block)
    return file


def published(file, name):
    if name == "sha1":
        cases = [("RFC 2202 section 3", n, key, msg, tag) for n, (key, msg, tag) in enumerate(RFC_2202, 1)]
    else:
        column = ("sha256", "sha384", "sha512").index(name)
        cases = [
            (f"RFC 4231 section 4.{n + 1}", n, key, msg, tags[column])
            for n, (key, msg, *tags) in enumerate(RFC_4231, 1)
        ]
    for source, number, key, msg, tag in cases:
        tag = bytes.fromhex(tag)
        assert hmac(name, key, msg)[: len(tag)] == tag, (name, number)
        cut = f", tag cut to {8 * len(tag)} bits" if number == 5 else ""
        file.published(source, keySize=8 * len(key), tagSize=8 * len(tag)).valid(
            f"test case {number}{cut}", ["Published"], key=key, msg=msg, tag=tag
        )


def good_cases(file, name, size, block):
    stream = file.stream

    def case(comment, flags, key, msg, tag_size=size, result="valid"):
        file.own(keySize=8 * len(key), tagSize=8 * tag_size).add(
            result, comment, flags, key=key, msg=msg, tag=hmac(name, key, msg)[:tag_size]
        )

    for length in (0, 1, 3, 8, 16, 31, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 200):
        case(f"message of {length} bytes", ["Pseudorandom"], stream.bytes(size), stream.bytes(length))
    for length in {"sha256": LARGE_SIZES, "sha512": (1025, 4095)}.get(name, (1024,)):
        case(
            f"message of {length} bytes",
            ["Pseudorandom", "LargeMessage"],
            stream.bytes(size),
            stream.bytes(length),
        )
    for length in sorted(
        {1, 8, 16, 24, 32, size - 1, size + 1, block - 1, block, block + 1, 2 * block} - {size}
    ):
        case(f"key of {length} bytes", ["Pseudorandom"], stream.bytes(length), stream.bytes(33))
    for length in (0, 16, 64, 65):
        case(
            f"half tag, message of {length} bytes",
            ["Pseudorandom"],
            stream.bytes(size),
            stream.bytes(length),
            size // 2,
        )
    case("key of zeros", ["EdgeCase"], bytes(size), stream.bytes(20))
    case("key and message of ones", ["EdgeCase"], b"\xff" * size, b"\xff" * block)
    case("empty key", ["EmptyKey"], b"", stream.bytes(20), result="acceptable")
    key = stream.bytes(size - 1)
    case("key before a zero byte is added", ["TrailingNul"], key, b"same tag")
    case("key after a zero byte is added: the same tag", ["TrailingNul"], key + b"\0", b"same tag")
    assert hmac(name, key, b"same tag") == hmac(name, key + b"\0", b"same tag")
    key = stream.bytes(block + 7)
    case("key longer than a block", ["Pseudorandom"], key, b"same tag")
    case("that key hashed: the same tag", ["EdgeCase"], pure_hash.digest(name, key), b"same tag")


def bad_tags(file, name, tag_size):
    stream = file.stream
    half = "" if tag_size == pure_hash.SIZE[name] else "half tag, "

    def case(comment, flag, change, message=24):
        key, msg = stream.bytes(pure_hash.SIZE[name]), stream.bytes(message)
        right = hmac(name, key, msg)
        wrong = change(right[:tag_size], right, key, msg)
        assert wrong != right[:tag_size]
        file.own(keySize=8 * len(key), tagSize=8 * tag_size).invalid(
            half + comment, [flag], key=key, msg=msg, tag=wrong
        )

    last = 8 * tag_size - 1
    for bit in sorted({0, 1, 7, 8, 31, 32, 33, 63, 64, last - 7, last - 1, last}):
        case(f"bit {bit} of the tag flipped", "ModifiedTag", lambda t, *_: flip(t, bit))
    case("no message, bit 0 of the tag flipped", "ModifiedTag", lambda t, *_: flip(t, 0), message=0)
    case("bit 0 of two bytes flipped", "ModifiedTag", lambda t, *_: flip(flip(t, 0), 64))
    case("tag inverted", "ModifiedTag", lambda t, *_: bytes(b ^ 0xFF for b in t))
    case("tag of zeros", "ModifiedTag", lambda t, *_: bytes(len(t)))
    case("tag of ones", "ModifiedTag", lambda t, *_: b"\xff" * len(t))
    case("tag reversed", "ModifiedTag", lambda t, *_: t[::-1])
    case(
        "first bit of the message flipped",
        "WrongKey",
        lambda t, r, k, m: hmac(name, k, flip(m, 0))[:tag_size],
    )
    case("first bit of the key flipped", "WrongKey", lambda t, r, k, m: hmac(name, flip(k, 0), m)[:tag_size])
    for size in sorted({0, 1, 4, 8, tag_size // 2, tag_size - 1}):
        case(f"tag cut to {size} bytes", "InvalidTagSize", lambda t, *_: t[:size])
    case("a zero byte after the tag", "InvalidTagSize", lambda t, *_: t + b"\0")
    if half:
        case("the whole tag where half is expected", "InvalidTagSize", lambda t, r, *_: r)
        case("second half of the tag", "ModifiedTag", lambda t, r, *_: r[-tag_size:])


def wrong_constructions(file, name, size, block):
    stream = file.stream
    digest = pure_hash.digest

    def case(comment, build, key_size=size):
        key, msg = stream.bytes(key_size), stream.bytes(40)
        wrong = build(key, msg)
        assert len(wrong) == size and wrong != hmac(name, key, msg)
        file.own(keySize=8 * len(key), tagSize=8 * size).invalid(
            comment, ["WrongConstruction"], key=key, msg=msg, tag=wrong
        )

    def padded(key, value):
        return bytes(b ^ value for b in key + bytes(block - len(key)))

    case("hash of key and message", lambda k, m: digest(name, k + m))
    case("hash of message and key", lambda k, m: digest(name, m + k))
    case("inner hash only", lambda k, m: digest(name, padded(k, 0x36) + m))
    case("pads exchanged", lambda k, m: digest(name, padded(k, 0x36) + digest(name, padded(k, 0x5C) + m)))
    case("key and message exchanged", lambda k, m: hmac(name, m, k))
    case("long key cut to a block instead of hashed", lambda k, m: hmac(name, k[:block], m), block + 9)
