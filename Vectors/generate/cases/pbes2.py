"""PBES2 with HMAC and AES-CBC (RFC 8018 section 6.2): PBKDF2 gives the key, the IV stands beside the text."""

from cases.cbc import encrypt, encrypt_blocks, must_refuse
from cases.padding import bad_paddings
from cases.passwords import COMPOSED, DECOMPOSED, NON_UTF_8, mended
from cases.pbkdf2 import pbkdf2
from vectorfile import VectorFile, fit, flip

HEADER = [
    "PBES2: the key is PBKDF2 of password, salt and iterationCount, the cipher AES-CBC with PKCS #5 padding.",
    "valid: encryption of msg gives ct and decryption of ct gives msg.",
    "invalid: decryption must be refused.",
]
KINDS = (
    ("sha1", 128),
    ("sha1", 256),
    ("sha224", 192),
    ("sha256", 128),
    ("sha256", 256),
    ("sha384", 192),
    ("sha512", 256),
)


def files():
    return [build(name, bits) for name, bits in KINDS]


def build(name, bits):
    file = VectorFile(
        f"pbes2-hmac-{name}-aes-{bits}",
        f"PbeWithHmac{name.capitalize()}AndAes_{bits}",
        "fields of pbe_test_schema.json",
        "PbeTest",
        HEADER,
    )
    good_cases(file, name, bits // 8)
    bad_cases(file, name, bits // 8)
    return file


def good_cases(file, name, size):
    stream = file.stream

    def case(comment, flags, password, msg, salt_size=16, rounds=1000):
        salt, iv = stream.bytes(salt_size), stream.bytes(16)
        ct = encrypt(pbkdf2(name, password, salt, rounds, size), iv, msg)
        file.own().valid(
            comment, flags, password=password, salt=salt, iterationCount=rounds, iv=iv, msg=msg, ct=ct
        )

    for length in (0, 1, 15, 16, 17, 32, 64, 100):
        case(f"message of {length} bytes", ["Pseudorandom"], stream.bytes(10), stream.bytes(length))
    for rounds in (1, 2048, 4096):
        case(f"{rounds} iterations", ["Pseudorandom"], stream.bytes(10), stream.bytes(20), rounds=rounds)
    case("salt of 8 bytes", ["ShortSalt"], b"12345678", stream.bytes(20), salt_size=8)
    case("empty password", ["EmptyPassword"], b"", stream.bytes(20))
    case("zero byte inside the password", ["EmbeddedNul"], b"1234\x005678", stream.bytes(20))
    case("password that is not UTF-8", ["NonUtf8"], NON_UTF_8[0][1], stream.bytes(20))
    case("password of 200 bytes", ["LongPassword"], stream.bytes(200), stream.bytes(20))
    msg = stream.bytes(20)
    case("composed password (NFC)", ["Normalisation"], COMPOSED[0].encode(), msg)
    case("decomposed password (NFD)", ["Normalisation"], DECOMPOSED[0].encode(), msg)


def bad_cases(file, name, size):
    stream = file.stream

    def case(
        comment,
        flag,
        change=None,
        password=None,
        padded=None,
        msg=None,
        rounds=500,
        iv_size=16,
        wrong_password=None,
    ):
        """Draws until the result is refused, which a wrong key or block gives in 255 of 256 cases."""
        while True:
            used = password or stream.bytes(10)
            salt, iv = stream.bytes(16), stream.bytes(iv_size)
            text = stream.bytes(35) if msg is None else msg
            key = pbkdf2(name, wrong_password(used) if wrong_password else used, salt, rounds, size)
            inner = fit(iv, 16)
            ct = encrypt_blocks(key, inner, padded) if padded else encrypt(key, inner, text)
            changed_iv, ct = change(iv, ct) if change else (iv, ct)
            try:
                must_refuse(pbkdf2(name, used, salt, rounds, size), changed_iv, ct)
                break
            except AssertionError:
                assert flag in (
                    "WrongKey",
                    "ModifiedCiphertext",
                    "EmbeddedNul",
                    "NonUtf8",
                    "Normalisation",
                ), comment
        file.own().invalid(
            comment, [flag], password=used, salt=salt, iterationCount=rounds, iv=changed_iv, msg=text, ct=ct
        )

    for comment, flag, padded, lenient in bad_paddings(stream)[::4]:
        case(comment, flag, padded=padded, msg=lenient)
    case("empty ciphertext", "NoPadding", lambda iv, ct: (iv, b""))
    for length in (1, 15, 17, 31):
        case(f"ciphertext of {length} bytes", "InvalidCiphertextSize", lambda iv, ct: (iv, ct[:length]))
    case("last block dropped", "ModifiedCiphertext", lambda iv, ct: (iv, ct[:-16]))
    case(
        "last bit of the ciphertext flipped",
        "ModifiedCiphertext",
        lambda iv, ct: (iv, flip(ct, 8 * len(ct) - 1)),
    )
    for length in (0, 8, 12, 15, 17, 32):
        case(f"IV of {length} bytes", "InvalidIvSize", iv_size=length)
    case("another password", "WrongKey", wrong_password=lambda p: b"another")
    case(
        "password in another letter case",
        "WrongKey",
        password=b"Password",
        wrong_password=lambda p: p.lower(),
    )
    case(
        "password stops at its zero byte",
        "EmbeddedNul",
        password=b"1234\x005678",
        wrong_password=lambda p: p[:4],
    )
    case("password repaired as text", "NonUtf8", password=NON_UTF_8[1][1], wrong_password=mended)
    case(
        "decomposed password, normalised to NFC",
        "Normalisation",
        password=DECOMPOSED[1].encode(),
        wrong_password=lambda p: COMPOSED[1].encode(),
    )
    for rounds in (0, -1, 1 << 31):
        password, salt, iv, msg = stream.bytes(10), stream.bytes(16), stream.bytes(16), stream.bytes(20)
        ct = encrypt(pbkdf2(name, password, salt, 1, size), iv, msg)
        file.own().invalid(
            f"{rounds} iterations",
            ["InvalidIterationCount"],
            password=password,
            salt=salt,
            iterationCount=rounds,
            iv=iv,
            msg=msg,
            ct=ct,
        )
