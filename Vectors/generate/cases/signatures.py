"""ECDSA over P-256 and RSA, verification: our own, by plain Python and OpenSSL."""

from reference import library, pure_p256 as p256, pure_rsa as rsa
from vectorfile import VectorFile, agree, flip

N = p256.N


def files():
    return [ecdsa(False), ecdsa(True), rsa_file("pkcs1"), rsa_file("pss")]


def integer(number):
    size = number.bit_length() // 8 + 1
    return bytes([2, size]) + number.to_bytes(size, "big")


def der(r, s):
    body = integer(r) + integer(s)
    return bytes([0x30, len(body)]) + body


def fixed(r, s):
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def below_order(stream):
    return int.from_bytes(stream.bytes(32), "big") % (N - 1) + 1


def ecdsa(is_fixed):
    name, kind = ("ecdsa-p256-p1363", "EcdsaP1363Verify") if is_fixed else ("ecdsa-p256", "EcdsaVerify")
    header = ["ECDSA over P-256 with SHA-256.", "valid: sig verifies for msg under the group's public key."]
    file = VectorFile(name, "ECDSA", "fields of ecdsa_verify_schema_v1.json", kind, header)
    stream, form = file.stream, fixed if is_fixed else der

    def group(public):
        key = {"type": "EcPublicKey", "curve": "secp256r1", "keySize": 256, "uncompressed": public.hex()}
        return file.own(publicKey=key, sha="SHA-256")

    secret = below_order(stream)
    public = agree(p256.public_key(secret), library.p256_public_key(secret))
    into = group(public)
    for size in (0, 1, 31, 32, 55, 56, 63, 64, 65, 119, 128, 1024):
        msg, nonce = stream.bytes(size), below_order(stream)
        r, s = p256.sign(secret, nonce, msg)
        for value in (s, N - s):
            assert p256.verify(public, msg, r, value) and library.p256_verify(public, msg, der(r, value))
        into.valid(f"message of {size} bytes", ["Pseudorandom"], msg=msg, sig=form(r, s))
        if size == 32:
            into.valid("s negated, which ECDSA permits", ["EdgeCase"], msg=msg, sig=form(r, N - s))
    msg = stream.bytes(24)
    r, s = p256.sign(secret, below_order(stream), msg)
    sig = form(r, s)

    def bad(comment, flag, sig, msg=msg, into=into):
        into.invalid(comment, [flag], msg=msg, sig=sig)

    for bit in (20, 60, 100, 200, 300, 400, 500):
        assert not library.p256_verify(public, msg, flip(der(r, s), bit))
        bad(f"bit {bit} of the signature flipped", "ModifiedSignature", flip(sig, bit))
    for comment, one, two in (
        ("r of 0", 0, s), ("s of 0", r, 0), ("r and s of 0", 0, 0), ("r is the order", N, s),
        ("s is the order", r, N), ("r is the order and 1", N + 1, s), ("s raised to 2^256 - 1", r, 2**256 - 1),
        ("r and s of 1", 1, 1), ("r and s exchanged", s, r), ("r negated", N - r, s),
    ):
        assert not p256.verify(public, msg, one, two) and not library.p256_verify(public, msg, der(one, two))
        bad(comment, "InvalidNumber", form(one, two))
    bad("message changed", "ModifiedMessage", sig, msg=flip(msg, 3))
    bad("message empty", "ModifiedMessage", sig, msg=b"")
    other = p256.sign(below_order(stream), below_order(stream), msg)
    bad("signature of another key", "WrongKey", form(*other))
    bad("the other form of the signature", "WrongConstruction", (der if is_fixed else fixed)(r, s))
    for size in (0, 1, 31, 32, 63):
        bad(f"cut to {size} bytes", "Truncated", sig[:size])
    bad("a zero byte appended", "Appended", sig + b"\0")
    bad("a zero byte in front", "WrongConstruction", b"\0" + sig)
    if not is_fixed:
        body = sig[2:]
        long = b"\x30\x81" + bytes([len(body)]) + body
        bad("length in two bytes", "NonCanonicalDer", long)
        bad("length indefinite", "NonCanonicalDer", b"\x30\x80" + body + b"\0\0")
        padded = b"\2" + bytes([integer(r)[1] + 1]) + b"\0" + integer(r)[2:] + integer(s)
        bad("r with a superfluous zero byte", "NonCanonicalDer", b"\x30" + bytes([len(padded)]) + padded)
        more = body + b"\5\0"
        bad("a third element", "NonCanonicalDer", b"\x30" + bytes([len(more)]) + more)
        negative = b"\2\x20" + (r | 1 << 255).to_bytes(32, "big") + integer(s)
        bad("r negative", "NonCanonicalDer", b"\x30" + bytes([len(negative)]) + negative)
        bad("a set instead of a sequence", "NonCanonicalDer", b"\x31" + sig[1:])
        bad("r empty", "NonCanonicalDer", b"\x30" + bytes([2 + len(integer(s))]) + b"\2\0" + integer(s))
    for comment, key in (
        ("public key off the curve", flip(public, 300)), ("public key cut", public[:-1]),
        ("public key of 0", b"\4" + bytes(64)), ("public key at infinity", b"\0"),
        ("public key compressed", bytes([2 + (public[-1] & 1)]) + public[1:33]),
    ):
        bad(comment, "InvalidEncoding", sig, into=group(key))
    return file


def rsa_file(scheme):
    algorithm, kind = {
        "pkcs1": ("RSASSA-PKCS1-v1_5", "RsassaPkcs1Verify"), "pss": ("RSASSA-PSS", "RsassaPssVerify"),
    }[scheme]
    header = [f"{algorithm} with SHA-256.", "valid: sig verifies for msg under the group's public key."]
    schema = f"fields of rsassa_{scheme}_verify_schema_v1.json"
    file = VectorFile("rsa-" + scheme, algorithm, schema, kind, header)
    stream = file.stream
    n, d = rsa.key(stream)

    def group(n, e):
        extra = {} if scheme == "pkcs1" else {"mgf": "MGF1", "mgfSha": "SHA-256", "sLen": 32}
        key = {"modulus": f"{n:0{-(-n.bit_length() // 8) * 2}x}", "publicExponent": f"{e:06x}"}
        return file.own(keySize=n.bit_length(), sha="SHA-256", publicKey=key, **extra)

    def encode(msg, salt):
        return rsa.pkcs1(msg, 256) if scheme == "pkcs1" else rsa.pss(msg, 256, salt)

    into = group(n, 65537)

    def bad(comment, flag, msg, sig):
        assert not library.rsa_verify(n, 65537, msg, sig, scheme), comment
        into.invalid(comment, [flag], msg=msg, sig=sig)

    for size in (0, 1, 32, 63, 64, 65, 1024):
        msg, salt = stream.bytes(size), stream.bytes(32)
        sig = rsa.sign(n, d, encode(msg, salt))
        assert library.rsa_verify(n, 65537, msg, sig, scheme)
        into.valid(f"message of {size} bytes", ["Pseudorandom"], msg=msg, sig=sig)
    msg, salt = stream.bytes(24), stream.bytes(32)
    encoded = encode(msg, salt)
    sig = rsa.sign(n, d, encoded)
    for bit in (0, 7, 8, 1000, 2040):
        bad(f"bit {bit} of the signature flipped", "ModifiedSignature", msg, flip(sig, bit))
    for bit in (0, 8, 16, 800, 1600, 1800, 2040, 2047):
        changed = flip(encoded, bit)
        if int.from_bytes(changed, "big") < n:
            bad(f"bit {bit} of the padded digest flipped", "WrongConstruction", msg, rsa.sign(n, d, changed))
    other = rsa.pss(msg, 256, salt) if scheme == "pkcs1" else rsa.pkcs1(msg, 256)
    bad("the other scheme", "WrongConstruction", msg, rsa.sign(n, d, other))
    if scheme == "pss":
        for size in (0, 20, 31, 33, 64):
            bad(f"salt of {size} bytes", "WrongConstruction", msg, rsa.sign(n, d, rsa.pss(msg, 256, bytes(size))))
    else:
        digest = encoded[-51:]
        short = b"\0\1" + b"\xff" * 8 + b"\0" + digest
        bad("digest at the front, zeros behind", "WrongConstruction", msg, rsa.sign(n, d, short + bytes(194)))
        bare = b"\0\1" + b"\xff" * (256 - 35) + b"\0" + digest[-32:]
        bad("digest without its algorithm", "WrongConstruction", msg, rsa.sign(n, d, bare))
    bad("message changed", "ModifiedMessage", flip(msg, 1), sig)
    for value in (0, 1, n - 1):
        bad(f"signature of {'n - 1' if value > 1 else value}", "ModifiedSignature", msg, value.to_bytes(256, "big"))
    if int.from_bytes(sig, "big") + n < 1 << 2048:
        bad("signature raised by n", "Malleability", msg, (int.from_bytes(sig, "big") + n).to_bytes(256, "big"))
    for size in (0, 1, 255):
        bad(f"cut to {size} bytes", "Truncated", msg, sig[:size])
    bad("a zero byte in front", "WrongConstruction", msg, b"\0" + sig)
    bad("a zero byte appended", "Appended", msg, sig + b"\0")
    for comment, modulus, exponent in (
        ("exponent of 1", n, 1), ("exponent of 3", n, 3), ("exponent of 65536", n, 65536),
        ("modulus even", n + 1, 65537), ("modulus of 1024 bits", n >> 1024 | 1, 65537),
        ("modulus of 2047 bits", n >> 1 | 1, 65537),
    ):
        # With the exponent 1 the padded digest itself would be a signature.
        forged = encoded if exponent == 1 else sig
        group(modulus, exponent).invalid(comment, ["InvalidKeyNumber"], msg=msg, sig=forged)
    return file
