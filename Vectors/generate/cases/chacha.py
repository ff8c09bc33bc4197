"""ChaCha20-Poly1305 and XChaCha20-Poly1305."""

from cases import aead
from reference import library, pure_chacha
from vectorfile import VectorFile

MESSAGE = (
    b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
    b"sunscreen would be it."
)
AAD = "50515253c0c1c2c3c4c5c6c7"
KEY = bytes(range(0x80, 0xA0))
RFC_8439 = (
    "070000004041424344454647",
    "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
    "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
    "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
    "3ff4def08e4b7a9de576d26586cec64b6116",
    "1ae10b594f09e26a7e902ecbd0600691",
)
XCHACHA_DRAFT = (
    bytes(range(0x40, 0x58)).hex(),
    "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
    "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
    "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
    "21f9664c97637da9768812f615c68b13b52e",
    "c0875924c1c7987947deafd8780acf49",
)


def files():
    plain = VectorFile("chacha20-poly1305", "CHACHA20-POLY1305", aead.SCHEMA, "AeadTest", aead.HEADER)
    extended = VectorFile("xchacha20-poly1305", "XCHACHA20-POLY1305", aead.SCHEMA, "AeadTest", aead.HEADER)
    build(
        aead.Aead(plain, 12, (pure_chacha.seal, library.seal), (pure_chacha.open_, library.open_)),
        "RFC 8439 section 2.8.2",
        RFC_8439,
        lambda key, iv: (key, iv),
    )
    build(
        aead.Aead(extended, 24, (pure_chacha.xseal, library.xseal), (pure_chacha.xopen, library.xopen)),
        "draft-irtf-cfrg-xchacha-03 A.3.1",
        XCHACHA_DRAFT,
        lambda key, iv: (pure_chacha.hchacha(key, iv[:16]), bytes(4) + iv[16:]),
    )
    return [plain, extended]


def build(cipher, source, known, inner):
    """`inner` gives the ChaCha20 key and nonce that the algorithm's key and nonce lead to."""
    iv, ct, tag = map(bytes.fromhex, known)
    aad = bytes.fromhex(AAD)
    assert cipher.seal(KEY, iv, aad, MESSAGE) == (ct, tag)
    cipher.file.published(source, ivSize=8 * len(iv), keySize=256, tagSize=128).valid(
        "the example", ["Published"], key=KEY, iv=iv, aad=aad, msg=MESSAGE, ct=ct, tag=tag
    )
    cipher.sizes(32, (1023, 1025, 4096) if cipher.iv_size == 24 else (1024, 4097))
    accumulator_limits(cipher, inner)
    cipher.modified(32)
    cipher.wrong_sizes()


def accumulator_limits(cipher, inner):
    """Messages that bring Poly1305's accumulator to a chosen value just before the secret part is added.

    The last step is (accumulator + lengths) * r; solving it backwards for one 16-byte block of ciphertext gives
    a number that must lie between 2^128 and 2^129, so inputs are drawn until it does.
    """
    prime, stream = pure_chacha.P1305, cipher.file.stream
    targets = [
        ("0", 0),
        ("1", 1),
        ("4", 4),
        ("5", 5),
        ("the prime less 1", prime - 1),
        ("the prime less 5", prime - 5),
        ("2^128 - 1", (1 << 128) - 1),
        ("2^128", 1 << 128),
        ("2^129 - 1", (1 << 129) - 1),
        ("2^129", 1 << 129),
        ("2^64 - 1", (1 << 64) - 1),
        ("2^32", 1 << 32),
        ("3 * 2^128", 3 << 128),
    ]
    for name, target in targets:
        while True:
            key, iv, aad, first = (
                stream.bytes(32),
                stream.bytes(cipher.iv_size),
                stream.bytes(16),
                stream.bytes(16),
            )
            chacha_key, nonce = inner(key, iv)
            r = pure_chacha.clamp(pure_chacha.block(chacha_key, 0, nonce)[:16])
            inverse = pow(r, prime - 2, prime)
            lengths = int.from_bytes(pure_chacha.lengths(aad, bytes(32)) + b"\1", "little")
            before = (target * inverse - lengths) * inverse % prime
            block = (before - pure_chacha.poly1305_sum(r, aad + first)) % prime
            if 1 << 128 <= block < 1 << 129:
                break
        ct = first + (block - (1 << 128)).to_bytes(16, "little")
        total = pure_chacha.poly1305_sum(r, aad + ct + pure_chacha.lengths(aad, ct))
        assert total == target
        cipher.good(
            f"accumulator {name} before the final addition",
            ["EdgeCase"],
            key,
            iv,
            aad,
            pure_chacha.stream(chacha_key, 1, nonce, ct),
        )
