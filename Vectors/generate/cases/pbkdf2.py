"""PBKDF2-HMAC with SHA-1 and SHA-2: RFC 6070, RFC 7914 and our own."""

from cases.passwords import COMPOSED, DECOMPOSED, NON_UTF_8, mended
from reference import library, pure_hash
from vectorfile import VectorFile, agree, flip, refused

HEADER = [
    "PBKDF2.",
    "valid: dkLen bytes from password, salt and iterationCount are dk.",
    "invalid: a parameter is refused, or the result must be seen to differ from dk.",
]

RFC_6070 = (  # password, salt, iterations, output
    (b"password", b"salt", 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
    (b"password", b"salt", 2, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"),
    (b"password", b"salt", 4096, "4b007901b765489abead49d926f721d065a429c1"),
    (b"password", b"salt", 16777216, "eefe3d61cd4da4e4e9945b3d6ba2158c2634e984"),
    (
        b"passwordPASSWORDpassword",
        b"saltSALTsaltSALTsaltSALTsaltSALTsalt",
        4096,
        "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
    ),
    (b"pass\0word", b"sa\0lt", 4096, "56fa6aa75548099dcc37d7f03425e0c3"),
)
RFC_7914 = (
    (
        b"passwd",
        b"salt",
        1,
        "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
        "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
    ),
    (
        b"Password",
        b"NaCl",
        80000,
        "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
        "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d",
    ),
)
PUBLISHED = {"sha1": ("RFC 6070 section 2", RFC_6070), "sha256": ("RFC 7914 section 11", RFC_7914)}


def pbkdf2(name, password, salt, rounds, size):
    results = [library.pbkdf2(name, password, salt, rounds, size)]
    if rounds <= 5000:
        results.append(library.pbkdf2_loop(name, password, salt, rounds, size))
    else:
        results.append(library.pbkdf2_pyca(name, password, salt, rounds, size))
    if rounds <= 3:
        results.append(pure_hash.pbkdf2(name, password, salt, rounds, size))
    return agree(*results)


def files():
    return [build(name) for name in ("sha1", "sha224", "sha256", "sha384", "sha512")]


def build(name):
    file = VectorFile(
        "pbkdf2-hmac-" + name,
        "PBKDF2-HMAC" + name.upper(),
        "fields of pbkdf_test_schema.json",
        "PbkdfTest",
        HEADER,
    )
    source, cases = PUBLISHED.get(name, ("", ()))
    for number, (password, salt, rounds, dk) in enumerate(cases, 1):
        size = len(dk) // 2
        if rounds > 100000:  # once is enough: the published value is the second opinion
            assert library.pbkdf2(name, password, salt, rounds, size).hex() == dk
        else:
            assert pbkdf2(name, password, salt, rounds, size).hex() == dk, number
        flags = ["Published"] + (["Slow"] if rounds > 1000000 else [])
        file.published(source).valid(
            f"test vector {number}",
            flags,
            password=password,
            salt=salt,
            iterationCount=rounds,
            dkLen=size,
            dk=dk,
        )
    good_cases(file, name)
    bad_parameters(file, name)
    bad_outputs(file, name)
    return file


def good_cases(file, name):
    stream, length, block = file.stream, pure_hash.SIZE[name], pure_hash.BLOCK[name]

    def case(comment, flags, password, salt=None, rounds=1000, size=32, result="valid"):
        salt = stream.bytes(16) if salt is None else salt
        file.own().add(
            result,
            comment,
            flags,
            password=password,
            salt=salt,
            iterationCount=rounds,
            dkLen=size,
            dk=pbkdf2(name, password, salt, rounds, size),
        )

    for rounds in (1, 2, 3, 10, 1000, 4096, 5000):
        case(f"{rounds} iterations", ["Pseudorandom"], stream.bytes(12), rounds=rounds)
    for size in sorted(
        {1, 15, 16, 24, length - 1, length, length + 1, 2 * length, 2 * length + 1, 100, 200} - {32}
    ):
        case(f"output of {size} bytes", ["Pseudorandom"], stream.bytes(12), rounds=50, size=size)
    for size in sorted({1, 8, block - 1, block, block + 1, 300}):
        case(
            f"password of {size} bytes",
            ["LongPassword" if size > block else "Pseudorandom"],
            stream.bytes(size),
        )
    case("empty password", ["EmptyPassword"], b"")
    case("empty salt", ["EmptySalt"], stream.bytes(12), salt=b"", result="acceptable")
    for size in (1, 7, 8):
        case(f"salt of {size} bytes", ["ShortSalt"], stream.bytes(12), salt=stream.bytes(size))
    for size in (37, 64, block + 1, 300):
        case(
            f"salt of {size} bytes",
            ["LongSalt" if size > block else "Pseudorandom"],
            stream.bytes(12),
            salt=stream.bytes(size),
        )
    case(
        "salt with zero bytes", ["EmbeddedNul"], stream.bytes(12), salt=bytes(8) + stream.bytes(4) + bytes(4)
    )
    case("zero byte inside the password", ["EmbeddedNul"], b"1234\x005678")
    case("zero byte before the password", ["EmbeddedNul"], b"\x001234")
    salt = stream.bytes(16)
    for zeros in (0, 1, 4):
        case(
            f"1234 and {zeros} zero bytes: the same output",
            ["TrailingNul"],
            b"1234" + bytes(zeros),
            salt=salt,
        )
    assert pbkdf2(name, b"1234", salt, 1000, 32) == pbkdf2(name, b"1234\0", salt, 1000, 32)
    for what, password in NON_UTF_8:
        case("password with " + what, ["NonUtf8"], password)
    for composed, decomposed in zip(COMPOSED, DECOMPOSED):
        salt = stream.bytes(16)
        case("composed password (NFC)", ["Normalisation"], composed.encode(), salt=salt)
        case(
            "the same text decomposed (NFD): another output",
            ["Normalisation"],
            decomposed.encode(),
            salt=salt,
        )
    case("password of emoji", ["Unicode"], "\U0001f511\U0001f469\u200d\U0001f4bb".encode())


def bad_parameters(file, name):
    stream, length = file.stream, pure_hash.SIZE[name]
    for rounds in (0, -1, -1000, -(1 << 31), 1 << 31, 1 << 32, (1 << 32) + 1):
        password, salt = stream.bytes(12), stream.bytes(16)
        refused(lambda: library.pbkdf2(name, password, salt, rounds, 32))
        file.own().invalid(
            f"{rounds} iterations",
            ["InvalidIterationCount"],
            password=password,
            salt=salt,
            iterationCount=rounds,
            dkLen=32,
            dk=pbkdf2(name, password, salt, 1, 32),
        )
    limit = 0xFFFFFFFF * length
    for size, what in (
        (0, "no output"),
        (-1, "a negative output size"),
        (limit + 1, "one byte over the limit"),
        (limit + length, "one hash length over the limit"),
        (1 << 52, "2^52 bytes"),
    ):
        password, salt = stream.bytes(12), stream.bytes(16)
        refused(
            lambda: library.pbkdf2(name, password, salt, 1, size),
            lambda: pure_hash.pbkdf2(name, password, salt, 1, size),
        )
        file.own().invalid(
            what, ["InvalidOutputSize"], password=password, salt=salt, iterationCount=1, dkLen=size, dk=b""
        )


def bad_outputs(file, name):
    stream = file.stream

    def case(comment, flag, build, password=None, rounds=20, size=32):
        password, salt = password or stream.bytes(12), stream.bytes(16)
        wrong = build(password, salt, rounds, size)
        assert wrong != pbkdf2(name, password, salt, rounds, size), comment
        file.own().invalid(
            comment, [flag], password=password, salt=salt, iterationCount=rounds, dkLen=size, dk=wrong
        )

    def right(*inputs):
        return pbkdf2(name, *inputs)

    for bit in (0, 127, 255):
        case(f"bit {bit} of the output flipped", "ModifiedOutput", lambda *a: flip(right(*a), bit))
    case("output short of its last byte", "InvalidOutputSize", lambda *a: right(*a)[:-1])
    case("output one byte longer than dkLen", "InvalidOutputSize", lambda p, s, r, n: right(p, s, r, n + 1))
    case("output empty", "InvalidOutputSize", lambda *a: b"")
    wrong = "WrongConstruction"
    case("one iteration too few", wrong, lambda p, s, r, n: right(p, s, r - 1, n))
    case("one iteration too many", wrong, lambda p, s, r, n: right(p, s, r + 1, n))
    case("password and salt exchanged", wrong, lambda p, s, r, n: right(s, p, r, n))
    case("salt ignored", wrong, lambda p, s, r, n: right(p, b"", r, n))
    case("salt cut to 8 bytes", wrong, lambda p, s, r, n: right(p, s[:8], r, n))
    other = "sha256" if name != "sha256" else "sha1"
    case(f"made with {other}", wrong, lambda p, s, r, n: pbkdf2(other, p, s, r, n))
    case(
        "first block repeated",
        wrong,
        lambda p, s, r, n: (right(p, s, r, n // 2) * 2),
        size=2 * pure_hash.SIZE[name],
    )
    long = stream.bytes(pure_hash.BLOCK[name] + 10)
    case(
        "long password cut to a block",
        wrong,
        lambda p, s, r, n: right(p[: pure_hash.BLOCK[name]], s, r, n),
        long,
    )
    case(
        "password stops at its zero byte",
        "EmbeddedNul",
        lambda p, s, r, n: right(p[:4], s, r, n),
        b"1234\x005678",
    )
    case(
        "password stops before its first byte",
        "EmbeddedNul",
        lambda p, s, r, n: right(b"", s, r, n),
        b"\x001234",
    )
    for what, password in NON_UTF_8:
        case("repaired as text: " + what, "NonUtf8", lambda p, s, r, n: right(mended(p), s, r, n), password)
    for composed, decomposed in zip(COMPOSED, DECOMPOSED):
        case(
            "decomposed password, normalised to NFC",
            "Normalisation",
            lambda p, s, r, n: right(composed.encode(), s, r, n),
            decomposed.encode(),
        )
        case(
            "composed password, normalised to NFD",
            "Normalisation",
            lambda p, s, r, n: right(decomposed.encode(), s, r, n),
            composed.encode(),
        )
    case(
        "password in UTF-16",
        wrong,
        lambda p, s, r, n: right(p.decode().encode("utf-16-le"), s, r, n),
        b"12345678",
    )
