"""AES-CBC with PKCS #5 padding, bare: FIPS 197, SP 800-38A and our own."""

from cases.padding import bad_paddings, padding_lookalikes
from reference import library, pure_aes
from vectorfile import (
    LARGE_SIZES,
    SMALL_SIZES,
    WRONG_AES_KEY_SIZES,
    VectorFile,
    agree,
    fit,
    fit_aes_key,
    flip,
    refused,
)

HEADER = [
    "AES-CBC with PKCS #5 padding.",
    "valid: encryption of msg gives ct and decryption of ct gives msg.",
    "invalid: decryption must be refused; msg is what a lenient implementation might return.",
]

FIPS_197 = (  # Appendix C: plaintext, key, ciphertext
    ("C.1", "000102030405060708090a0b0c0d0e0f", "69c4e0d86a7b0430d8cdb78070b4c55a"),
    ("C.2", "000102030405060708090a0b0c0d0e0f1011121314151617", "dda97ca4864cdfe06eaf70a0ec0d7191"),
    (
        "C.3",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "8ea2b7ca516745bfeafc49904b496089",
    ),
)

SP_800_38A_PLAINTEXT = (
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
SP_800_38A = (  # F.2: section numbers for encryption and decryption, key, ciphertext
    (
        1,
        2,
        "2b7e151628aed2a6abf7158809cf4f3c",
        "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
        "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
    ),
    (
        3,
        4,
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
        "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
    ),
    (
        5,
        6,
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
        "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
    ),
)


def encrypt(key, iv, msg):
    return agree(pure_aes.cbc_encrypt(key, iv, msg), library.cbc_encrypt(key, iv, msg))


def encrypt_blocks(key, iv, padded):
    return agree(pure_aes.cbc_encrypt_blocks(key, iv, padded), library.cbc_encrypt_blocks(key, iv, padded))


def must_refuse(key, iv, ct):
    refused(lambda: pure_aes.cbc_decrypt(key, iv, ct), lambda: library.cbc_decrypt(key, iv, ct))


def group(file, key, iv):
    return file.own(keySize=8 * len(key), ivSize=8 * len(iv))


def files():
    file = VectorFile(
        "aes-cbc-pkcs5", "AES-CBC-PKCS5", "fields of ind_cpa_test_schema_v1.json", "IndCpaTest", HEADER
    )
    published(file)
    for key_size in (16, 24, 32):
        valid_cases(file, key_size)
        wrong_paddings(file, key_size)
        wrong_lengths(file, key_size)
        modified(file, key_size)
        wrong_iv_sizes(file, key_size)
    wrong_key_sizes(file)
    return [file]


def published(file):
    zero = bytes(16)
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    for section, key, first in FIPS_197:
        key = bytes.fromhex(key)
        ct = encrypt(key, zero, block)
        assert ct[:16].hex() == first == pure_aes.AES(key).encrypt(block).hex()
        file.published("FIPS 197 Appendix C", keySize=8 * len(key), ivSize=128).valid(
            f"{section}: the first block of ct is the published one; IV zero, padding added",
            ["Published"],
            key=key,
            iv=zero,
            msg=block,
            ct=ct,
        )
    iv = bytes(range(16))
    msg = bytes.fromhex(SP_800_38A_PLAINTEXT)
    for encryption, decryption, key, blocks in SP_800_38A:
        key = bytes.fromhex(key)
        ct = encrypt(key, iv, msg)
        assert ct[:64].hex() == blocks
        into = file.published("NIST SP 800-38A F.2", keySize=8 * len(key), ivSize=128)
        for number, what in ((encryption, "encrypt"), (decryption, "decrypt")):
            into.valid(
                f"F.2.{number} {what}: the first four blocks of ct are the published ones, padding added",
                ["Published"],
                key=key,
                iv=iv,
                msg=msg,
                ct=ct,
            )


def valid_cases(file, key_size):
    stream = file.stream

    def case(comment, flags, msg, iv=None, key=None):
        key, iv = key or stream.bytes(key_size), iv or stream.bytes(16)
        ct = encrypt(key, iv, msg)
        agree(msg, pure_aes.cbc_decrypt(key, iv, ct), library.cbc_decrypt(key, iv, ct))
        group(file, key, iv).valid(comment, flags, key=key, iv=iv, msg=msg, ct=ct)

    for size in SMALL_SIZES:
        case(f"message of {size} bytes", ["Pseudorandom"], stream.bytes(size))
    for size in LARGE_SIZES[key_size // 8 - 2 :: 3]:
        case(f"message of {size} bytes", ["Pseudorandom", "LargeMessage"], stream.bytes(size))
    for comment, msg in padding_lookalikes(stream):
        case(comment, ["EdgeCase"], msg)
    case("IV of zeros", ["EdgeCase"], stream.bytes(20), iv=bytes(16))
    case("IV of ones", ["EdgeCase"], stream.bytes(20), iv=b"\xff" * 16)
    case("key of zeros", ["EdgeCase"], stream.bytes(20), key=bytes(key_size))
    case("key of ones", ["EdgeCase"], stream.bytes(20), key=b"\xff" * key_size)
    iv = stream.bytes(16)
    case("message equal to the IV", ["EdgeCase"], iv, iv=iv)


def wrong_paddings(file, key_size):
    stream = file.stream
    for comment, flag, padded, lenient in bad_paddings(stream):
        key, iv = stream.bytes(key_size), stream.bytes(16)
        ct = encrypt_blocks(key, iv, padded)
        must_refuse(key, iv, ct)
        group(file, key, iv).invalid(comment, [flag], key=key, iv=iv, msg=lenient, ct=ct)


def wrong_lengths(file, key_size):
    stream = file.stream
    key, iv, msg = stream.bytes(key_size), stream.bytes(16), stream.bytes(40)
    ct = encrypt(key, iv, msg)
    into = group(file, key, iv)
    into.invalid("empty ciphertext", ["NoPadding"], key=key, iv=iv, msg=b"", ct=b"")
    for size in (*range(1, 16), 17, 31, 33, 47):
        must_refuse(key, iv, ct[:size])
        into.invalid(
            f"ciphertext of {size} bytes",
            ["InvalidCiphertextSize"],
            key=key,
            iv=iv,
            msg=msg[: size // 16 * 16],
            ct=ct[:size],
        )
    for extra in (1, 15):
        into.invalid(
            f"ciphertext with {extra} bytes more",
            ["InvalidCiphertextSize"],
            key=key,
            iv=iv,
            msg=msg,
            ct=ct + bytes(extra),
        )


def modified(file, key_size):
    """Changes without authentication: only those that spoil the padding can be refused."""
    stream = file.stream

    def case(comment, flag, change):
        while True:
            key, iv, msg = stream.bytes(key_size), stream.bytes(16), stream.bytes(40)
            bad = change(key, iv, encrypt(key, iv, msg))
            try:
                must_refuse(*bad)
            except AssertionError:
                continue  # the padding came out right by chance: draw again
            group(file, *bad[:2]).invalid(comment, [flag], key=bad[0], iv=bad[1], msg=msg, ct=bad[2])
            return

    case("last block dropped", "ModifiedCiphertext", lambda k, i, c: (k, i, c[:-16]))
    case("last block doubled", "ModifiedCiphertext", lambda k, i, c: (k, i, c + c[-16:]))
    case("a block of zeros added", "ModifiedCiphertext", lambda k, i, c: (k, i, c + bytes(16)))
    case(
        "last two blocks exchanged", "ModifiedCiphertext", lambda k, i, c: (k, i, c[:16] + c[32:] + c[16:32])
    )
    case("first bit of the last block flipped", "ModifiedCiphertext", lambda k, i, c: (k, i, flip(c, 256)))
    case("last bit of the last block flipped", "ModifiedCiphertext", lambda k, i, c: (k, i, flip(c, 383)))
    case(
        "last byte of the block before flipped: the last pad byte changes",
        "ModifiedCiphertext",
        lambda k, i, c: (k, i, flip(c, 255)),
    )
    case(
        "first pad byte flipped through the block before",
        "ModifiedCiphertext",
        lambda k, i, c: (k, i, flip(c, 128 + 8 * 8)),
    )
    case("one bit of the key flipped", "WrongKey", lambda k, i, c: (flip(k, 3), i, c))
    case("another key", "WrongKey", lambda k, i, c: (stream.bytes(key_size), i, c))
    case("IV and ciphertext exchanged", "ModifiedIv", lambda k, i, c: (k, c[:16], i + c[16:32]))
    key, iv, msg = stream.bytes(key_size), stream.bytes(16), stream.bytes(11)
    ct, changed = encrypt(key, iv, msg), flip(iv, 127)
    must_refuse(key, changed, ct)
    group(file, key, iv).invalid(
        "one block, last bit of the IV flipped: the last pad byte changes",
        ["ModifiedIv"],
        key=key,
        iv=changed,
        msg=msg,
        ct=ct,
    )


def wrong_iv_sizes(file, key_size):
    stream = file.stream
    for size in (0, 8, 11, 12, 13, 15, 17, 24, 32):
        key, iv, msg = stream.bytes(key_size), stream.bytes(size), stream.bytes(20)
        ct = encrypt(key, fit(iv, 16), msg)
        must_refuse(key, iv, ct)
        group(file, key, iv).invalid(f"IV of {size} bytes", ["InvalidIvSize"], key=key, iv=iv, msg=msg, ct=ct)


def wrong_key_sizes(file):
    stream = file.stream
    for size in WRONG_AES_KEY_SIZES:
        key, iv, msg = stream.bytes(size), stream.bytes(16), stream.bytes(20)
        ct = encrypt(fit_aes_key(key), iv, msg)
        must_refuse(key, iv, ct)
        group(file, key, iv).invalid(
            f"key of {size} bytes", ["InvalidKeySize"], key=key, iv=iv, msg=msg, ct=ct
        )
