"""AES-CMAC and AES-GMAC: RFC 4493, SP 800-38B, IEEE 802.1AE, the specification of GCM and our own."""

from reference import library, pure_aes, pure_siv
from vectorfile import WRONG_AES_KEY_SIZES, VectorFile, agree, fit, fit_aes_key, flip

CMAC_HEADER = [
    "AES-CMAC with tags of 128 bits.",
    "valid: computing gives tag. invalid: tag must not verify, or the key has a size that AES does not have.",
]
GMAC_HEADER = [
    "AES-GMAC with nonces of 96 bits and tags of 128 bits: AES-GCM over msg as associated data, without plaintext.",
    "valid: computing gives tag. invalid: tag must not verify, or the nonce or the key has a size that is not taken.",
]
MESSAGE = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
CMAC_KNOWN = (  # source, key, tags of the message's first 0, 16, 40 and 64 bytes
    (
        "RFC 4493 section 4",
        "2b7e151628aed2a6abf7158809cf4f3c",
        "bb1d6929e95937287fa37d129b756746 070a16b46b4d4144f79bdd9dd04a287c "
        "dfa66747de9ae63030ca32611497c827 51f0bebf7e3b9d92fc49741779363cfe",
    ),
    (
        "NIST SP 800-38B, examples",
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "d17ddf46adaacde531cac483de7a9367 9e99a7bf31e710900662f65e617c5184 "
        "8a1de5be2eb31aad089a82e6ee908b0e a1d5df0eed790f794d77589659f39a11",
    ),
    (
        "NIST SP 800-38B, examples",
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "028962f61b7bf89efc6b551f4667d983 28a7023f452e8f82bd4bf28d8c37c35c "
        "aaf3d8f1de5640c232f5b169b9c911e6 e1992190549f6ed5696a2c056c315410",
    ),
)
MACSEC = (
    "d609b1f056637a0d46df998d88e5222ab2c2846512153524c0895e8108000f10"
    "1112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f30313233340001"
)
GMAC_KNOWN = (  # source, comment, key, nonce, message, tag
    (
        "McGrew, Viega: The Galois/Counter Mode of Operation (GCM), Appendix B",
        "test case 1",
        "00" * 16,
        "00" * 12,
        "",
        "58e2fccefa7e3061367f1d57a4e7455a",
    ),
    (
        "McGrew, Viega: The Galois/Counter Mode of Operation (GCM), Appendix B",
        "test case 7",
        "00" * 24,
        "00" * 12,
        "",
        "cd33b28ac773f74ba00ed1f312572435",
    ),
    (
        "McGrew, Viega: The Galois/Counter Mode of Operation (GCM), Appendix B",
        "test case 13",
        "00" * 32,
        "00" * 12,
        "",
        "530f8afbc74536b9a963b4f1c4cb738b",
    ),
    (
        "IEEE 802.1AE, annex C.1, packet of 54 bytes, authenticated only",
        "GCM-AES-128",
        "ad7a2bd03eac835a6f620fdcb506b345",
        "12153524c0895e81b2c28465",
        MACSEC,
        "f09478a9b09007d06f46e9b6a1da25dd",
    ),
    (
        "IEEE 802.1AE, annex C.1, packet of 54 bytes, authenticated only",
        "GCM-AES-256",
        "e3c08a8f06c6e3ad95a70557b23f75483ce33021a9c72b7025666204c69c0b72",
        "12153524c0895e81b2c28465",
        MACSEC,
        "2f0bc5af409e06d609ea8b7d0fa5ea50",
    ),
)
SIZES = (0, 1, 7, 15, 16, 17, 31, 32, 33, 47, 48, 64, 65, 127, 128, 255, 1024)


def cmac(key, msg):
    return agree(pure_siv.cmac(key, msg), library.cmac(key, msg))


def gmac(key, iv, msg):
    return agree(pure_siv.gmac(key, iv, msg), library.gmac(key, iv, msg))


def files():
    return [build_cmac(), build_gmac()]


def build_cmac():
    file = VectorFile("aes-cmac", "AES-CMAC", "mac_test_schema_v1.json", "MacTest", CMAC_HEADER)
    stream = file.stream
    for source, key, tags in CMAC_KNOWN:
        key = bytes.fromhex(key)
        for size, tag in zip((0, 16, 40, 64), tags.split()):
            tag = bytes.fromhex(tag)
            assert cmac(key, MESSAGE[:size]) == tag
            file.published(source, keySize=8 * len(key), tagSize=128).valid(
                f"message of {size} bytes", ["Published"], key=key, msg=MESSAGE[:size], tag=tag
            )

    def add(result, comment, flags, key, msg, tag):
        file.own(keySize=8 * len(key), tagSize=128).add(result, comment, flags, key=key, msg=msg, tag=tag)

    for key_size in (16, 24, 32):
        for size in SIZES:
            key, msg = stream.bytes(key_size), stream.bytes(size)
            add("valid", f"message of {size} bytes", ["Pseudorandom"], key, msg, cmac(key, msg))
        for value in (b"\0", b"\xff"):
            key = value * key_size
            comment = f"key and message of {value.hex()}"
            add("valid", comment, ["EdgeCase"], key, value * 32, cmac(key, value * 32))
        bad_tags(stream, key_size, lambda k, m: cmac(k, m), add)
        key, msg = stream.bytes(key_size), stream.bytes(40)
        for comment, tag in wrong_cmacs(key, msg):
            assert tag != cmac(key, msg), comment
            add("invalid", comment, ["WrongConstruction"], key, msg, tag)
        whole = stream.bytes(32)
        add(
            "invalid",
            "whole blocks, under the subkey of a part",
            ["WrongConstruction"],
            key,
            whole,
            pure_aes.AES(key).encrypt(
                pure_aes.xor(
                    pure_aes.AES(key).encrypt(whole[:16]), pure_aes.xor(whole[16:], subkeys(key)[1])
                )
            ),
        )
    for size in WRONG_AES_KEY_SIZES:
        key, msg = stream.bytes(size), stream.bytes(20)
        add("invalid", f"key of {size} bytes", ["InvalidKeySize"], key, msg, cmac(fit_aes_key(key), msg))
    return file


def subkeys(key):
    first = pure_aes.cmac_subkey(pure_aes.AES(key))
    return first, pure_siv.double(first)


def wrong_cmacs(key, msg):
    """What a slip in the construction gives for a message that does not end with a block."""
    cipher, (first, second) = pure_aes.AES(key), subkeys(key)

    def chain(blocks):
        state = bytes(16)
        for block in blocks:
            state = cipher.encrypt(pure_aes.xor(state, block))
        return state

    head = [msg[:16], msg[16:32]]
    padded = msg[32:] + b"\x80" + bytes(15 - len(msg[32:]))
    yield "CBC-MAC without subkeys", chain(head + [padded])
    yield "under the subkey of whole blocks", chain(head + [pure_aes.xor(padded, first)])
    yield "padded with zeros alone", chain(head + [pure_aes.xor(fit(msg[32:], 16), second)])
    yield "padded with 01 at the end", chain(
        head + [pure_aes.xor(msg[32:] + bytes(15 - len(msg[32:])) + b"\x01", second)]
    )
    yield "subkey added to every block", chain([pure_aes.xor(b, second) for b in head + [padded]])
    yield "subkey added to the first block", chain([pure_aes.xor(head[0], second), head[1], padded])
    doubled = (int.from_bytes(cipher.encrypt(bytes(16)), "big") << 2) % (1 << 128)
    yield "subkeys doubled without reduction", chain(
        head + [pure_aes.xor(padded, (doubled ^ 1).to_bytes(16, "big"))]
    )
    yield "the padding's own tag", chain([pure_aes.xor(padded, second)])


def build_gmac():
    file = VectorFile("aes-gmac", "AES-GMAC", "mac_with_iv_test_schema_v1.json", "MacWithIvTest", GMAC_HEADER)
    stream = file.stream
    for source, comment, key, iv, msg, tag in GMAC_KNOWN:
        key, iv, msg, tag = (bytes.fromhex(text) for text in (key, iv, msg, tag))
        assert gmac(key, iv, msg) == tag
        file.published(source, keySize=8 * len(key), ivSize=96, tagSize=128).valid(
            comment, ["Published"], key=key, iv=iv, msg=msg, tag=tag
        )

    def add(result, comment, flags, key, iv, msg, tag):
        file.own(keySize=8 * len(key), ivSize=8 * len(iv), tagSize=128).add(
            result, comment, flags, key=key, iv=iv, msg=msg, tag=tag
        )

    for key_size in (16, 24, 32):
        for size in SIZES:
            key, iv, msg = stream.bytes(key_size), stream.bytes(12), stream.bytes(size)
            add("valid", f"message of {size} bytes", ["Pseudorandom"], key, iv, msg, gmac(key, iv, msg))
        iv = stream.bytes(12)

        def with_iv(result, comment, flags, key, msg, tag):
            add(result, comment, flags, key, iv, msg, tag)

        bad_tags(stream, key_size, lambda k, m: gmac(k, iv, m), with_iv)
        key, msg = stream.bytes(key_size), stream.bytes(40)
        right = gmac(key, iv, msg)
        for bit in (0, 63, 95):
            add("invalid", f"bit {bit} of the nonce flipped", ["ModifiedIv"], key, flip(iv, bit), msg, right)
        for comment, tag in (
            ("msg encrypted instead of authenticated", library.gcm_encrypt(key, iv, b"", msg)[1]),
            ("an empty message's tag", gmac(key, iv, b"")),
            ("GHASH without the key stream", pure_aes.xor(right, gmac_mask(key, iv))),
        ):
            assert tag != right
            add("invalid", comment, ["WrongConstruction"], key, iv, msg, tag)
    for size in (0, 1, 8, 11, 13, 16, 24, 32):
        key, iv, msg = stream.bytes(16), stream.bytes(size), stream.bytes(20)
        comment = f"nonce of {size} bytes, the tag is that of the nonce cut or zero-filled"
        add("invalid", comment, ["InvalidIvSize"], key, iv, msg, gmac(key, fit(iv, 12), msg))
    for size in WRONG_AES_KEY_SIZES:
        key, iv, msg = stream.bytes(size), stream.bytes(12), stream.bytes(20)
        tag = gmac(fit_aes_key(key), iv, msg)
        add("invalid", f"key of {size} bytes", ["InvalidKeySize"], key, iv, msg, tag)
    return file


def gmac_mask(key, iv):
    return pure_aes.AES(key).encrypt(iv + b"\0\0\0\1")


def bad_tags(stream, key_size, mac, add):
    def case(comment, flag, change, size=24):
        key, msg = stream.bytes(key_size), stream.bytes(size)
        right = mac(key, msg)
        wrong = change(right, key, msg)
        assert wrong != right
        add("invalid", comment, [flag], key, msg, wrong)

    for bit in (0, 1, 7, 8, 31, 63, 64, 120, 127):
        case(f"bit {bit} of the tag flipped", "ModifiedTag", lambda t, *_: flip(t, bit))
    case("no message, bit 0 of the tag flipped", "ModifiedTag", lambda t, *_: flip(t, 0), 0)
    case("bit 0 of two bytes flipped", "ModifiedTag", lambda t, *_: flip(flip(t, 0), 64))
    case("tag inverted", "ModifiedTag", lambda t, *_: bytes(b ^ 0xFF for b in t))
    case("tag of zeros", "ModifiedTag", lambda t, *_: bytes(16))
    case("tag of ones", "ModifiedTag", lambda t, *_: b"\xff" * 16)
    case("tag reversed", "ModifiedTag", lambda t, *_: t[::-1])
    case("first bit of the message flipped", "WrongKey", lambda t, k, m: mac(k, flip(m, 0)))
    case("a zero byte after the message", "WrongKey", lambda t, k, m: mac(k, m + b"\0"))
    case("first bit of the key flipped", "WrongKey", lambda t, k, m: mac(flip(k, 0), m))
    for size in (0, 1, 4, 8, 12, 15):
        case(f"tag cut to {size} bytes", "InvalidTagSize", lambda t, *_: t[:size])
    case("a zero byte after the tag", "InvalidTagSize", lambda t, *_: t + b"\0")
