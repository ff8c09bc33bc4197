"""XAES-256-GCM."""

from cases import aead
from reference import library, pure_aes
from vectorfile import VectorFile, agree

SOURCE = "c2sp.org/XAES-256-GCM, test vectors"
NONCE = b"ABCDEFGHIJKLMNOPQRSTUVWX"
MESSAGE = b"XAES-256-GCM"
# Key byte, associated data, CMAC subkey, derived key, ciphertext and tag.
CASES = (
    (
        1,
        b"",
        "e531954aca063d5b8d9c47a47d4cc6f0",
        "c8612c9ed53fe43e8e005b828a1631a0bbcb6ab2f46514ec4f439fcfd0fa969b",
        "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
    ),
    (
        3,
        b"c2sp.org/XAES-256-GCM",
        "23810ec50edb99f374409466ed1f4b7b",
        "e9c621d4cdd9b11b00a6427ad7e559aeedd66b3857646677748f8ca796cb3fd8",
        "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
    ),
)


def files():
    file = VectorFile("xaes-256-gcm", "XAES-256-GCM", aead.SCHEMA, "AeadTest", aead.HEADER)
    cipher = aead.Aead(
        file,
        24,
        (pure_aes.xaes_encrypt, library.xaes_encrypt),
        (pure_aes.xaes_decrypt, library.xaes_decrypt),
    )
    published(cipher)
    cipher.sizes(32, (1023, 1025, 4096))
    shared_halves(cipher)
    cipher.modified(32)
    wrong_constructions(cipher)
    cipher.wrong_sizes()
    return [file]


def published(cipher):
    for byte, aad, subkey, derived, sealed in CASES:
        key, sealed = bytes([byte]) * 32, bytes.fromhex(sealed)
        assert pure_aes.cmac_subkey(pure_aes.AES(key)).hex() == subkey
        assert agree(pure_aes.xaes_key(key, NONCE), library.xaes_key(key, NONCE)).hex() == derived
        ct, tag = sealed[:-16], sealed[-16:]
        assert cipher.seal(key, NONCE, aad, MESSAGE) == (ct, tag)
        group = cipher.file.published(SOURCE, ivSize=192, keySize=256, tagSize=128)
        group.valid(
            f"key of bytes {byte}", ["Published"], key=key, iv=NONCE, aad=aad, msg=MESSAGE, ct=ct, tag=tag
        )


def shared_halves(cipher):
    """Nonces that share one half under one key: a kept key must serve the one and not the other."""
    stream = cipher.file.stream
    key, prefix, suffix = stream.bytes(32), stream.bytes(12), stream.bytes(12)
    for number in range(3):
        iv = prefix + stream.bytes(12)
        cipher.good(f"shared prefix, {number}", ["EdgeCase"], key, iv, stream.bytes(7), stream.bytes(40))
    for number in range(3):
        iv = stream.bytes(12) + suffix
        cipher.good(f"shared suffix, {number}", ["EdgeCase"], key, iv, stream.bytes(7), stream.bytes(40))
    for comment, iv in (
        ("prefix of zeros", bytes(12) + suffix),
        ("prefix of ones", b"\xff" * 12 + suffix),
        ("suffix of zeros", prefix + bytes(12)),
    ):
        cipher.good(comment, ["EdgeCase"], key, iv, b"", stream.bytes(40))


def wrong_constructions(cipher):
    """What nearly right implementations would make: each derives the key or the nonce otherwise."""
    stream = cipher.file.stream

    def case(comment, derive):
        key, iv, aad, msg = stream.bytes(32), stream.bytes(24), stream.bytes(20), stream.bytes(35)
        # A subkey whose doubling wraps, so that the reduction matters to every case.
        while pure_aes.AES(key).encrypt(bytes(16))[0] < 0x80:
            key = stream.bytes(32)
        ct, tag = pure_aes.gcm_encrypt(*derive(key, iv), aad, msg)
        cipher.bad(comment, ["WrongConstruction"], key, iv, aad, msg, ct, tag)

    def blocks(key, nonce, head=lambda i: bytes((0, i)) + b"X\0", subkey=None, counters=(1, 2)):
        aes = pure_aes.AES(key)
        mask = pure_aes.cmac_subkey(aes) if subkey is None else subkey(aes)
        return b"".join(aes.encrypt(pure_aes.xor(head(i) + nonce[:12], mask)) for i in counters)

    def unreduced(aes):
        doubled = pure_aes.number(aes.encrypt(bytes(16))) << 1
        return (doubled % (1 << 128)).to_bytes(16, "big")

    case("plain GCM under the first half of the nonce", lambda k, n: (k, n[:12]))
    case("plain GCM under the last half of the nonce", lambda k, n: (k, n[12:]))
    case("halves of the nonce exchanged", lambda k, n: (blocks(k, n[12:]), n[:12]))
    case("without the subkey of CMAC", lambda k, n: (blocks(k, n, subkey=lambda a: bytes(16)), n[12:]))
    case("subkey not doubled", lambda k, n: (blocks(k, n, subkey=lambda a: a.encrypt(bytes(16))), n[12:]))
    case("subkey doubled without reduction", lambda k, n: (blocks(k, n, subkey=unreduced), n[12:]))
    case("counters from 0", lambda k, n: (blocks(k, n, counters=(0, 1)), n[12:]))
    case("counters exchanged", lambda k, n: (blocks(k, n, counters=(2, 1)), n[12:]))
    case("counter little-endian", lambda k, n: (blocks(k, n, head=lambda i: bytes((i, 0)) + b"X\0"), n[12:]))
    case("label in lower case", lambda k, n: (blocks(k, n, head=lambda i: bytes((0, i)) + b"x\0"), n[12:]))
