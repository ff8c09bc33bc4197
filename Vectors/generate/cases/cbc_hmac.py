"""Our authenticated CBC: AES-256-CBC, then HMAC-SHA-256 over length of header, header, IV and ciphertext."""

from cases.cbc import encrypt, encrypt_blocks, must_refuse
from cases.hkdf import hkdf
from cases.mac import hmac
from cases.padding import bad_paddings, padding_lookalikes
from reference import library
from vectorfile import LARGE_SIZES, SMALL_SIZES, VectorFile, fit, flip

HEADER = [
    "encKey = HKDF-SHA256(ikm = key, salt empty, info = coffer/cbc-hmac/enc/v1, 32 bytes)",
    "macKey = HKDF-SHA256(ikm = key, salt empty, info = coffer/cbc-hmac/mac/v1, 32 bytes)",
    "ct = AES-256-CBC with PKCS #5 padding (encKey, iv, msg)",
    "tag = HMAC-SHA256(macKey, be64(bytes in aad) || aad || iv || ct), 32 bytes",
    "valid: sealing gives ct and tag, opening gives msg. invalid: opening must be refused, with one error for all.",
]
ENC, MAC = b"coffer/cbc-hmac/enc/v1", b"coffer/cbc-hmac/mac/v1"


def keys(key):
    return hkdf("sha256", key, b"", ENC, 32), hkdf("sha256", key, b"", MAC, 32)


def tag_of(mac_key, aad, iv, ct):
    return hmac("sha256", mac_key, len(aad).to_bytes(8, "big") + aad + iv + ct)


def seal(key, aad, iv, msg):
    enc_key, mac_key = keys(key)
    ct = encrypt(enc_key, iv, msg)
    return ct, tag_of(mac_key, aad, iv, ct)


def files():
    file = VectorFile(
        "cbc-hmac", "CBC-HMAC", "Coffer, shape of aead_test_schema_v1.json", "CbcHmacTest", HEADER
    )
    good_cases(file)
    modified(file)
    resized(file)
    wrong_constructions(file)
    authenticated_nonsense(file)
    return [file]


def add(file, result, comment, flags, key, aad, iv, msg, ct, tag):
    if result == "invalid" and len(key) == 32 and len(iv) == 16 and len(tag) == 32:
        enc_key, mac_key = keys(key)
        if tag == tag_of(mac_key, aad, iv, ct):
            must_refuse(enc_key, iv, ct)
    file.own(keySize=8 * len(key), ivSize=8 * len(iv), tagSize=8 * len(tag)).add(
        result, comment, flags, key=key, aad=aad, iv=iv, msg=msg, ct=ct, tag=tag
    )


def good_cases(file):
    stream = file.stream

    def case(comment, flags, aad, msg, key=None, iv=None):
        key, iv = key or stream.bytes(32), iv or stream.bytes(16)
        add(file, "valid", comment, flags, key, aad, iv, msg, *seal(key, aad, iv, msg))

    for size in SMALL_SIZES:
        case(f"message of {size} bytes, header of 12", ["Pseudorandom"], stream.bytes(12), stream.bytes(size))
    for size in (0, 1, 7, 8, 15, 16, 17, 32, 47, 64, 255, 256):
        case(f"header of {size} bytes", ["Pseudorandom"], stream.bytes(size), stream.bytes(21))
    for size in LARGE_SIZES[1::2]:
        case(
            f"message of {size} bytes", ["Pseudorandom", "LargeMessage"], stream.bytes(12), stream.bytes(size)
        )
    for comment, msg in padding_lookalikes(stream):
        case(comment, ["EdgeCase"], stream.bytes(12), msg)
    case("no header, no message", ["EdgeCase"], b"", b"")
    case("IV of zeros", ["EdgeCase"], b"", stream.bytes(20), iv=bytes(16))
    case("key of zeros", ["EdgeCase"], b"", stream.bytes(20), key=bytes(32))
    case("key of ones", ["EdgeCase"], b"", stream.bytes(20), key=b"\xff" * 32)
    iv = stream.bytes(16)
    case("header equal to the IV", ["EdgeCase"], iv, stream.bytes(20), iv=iv)


def fresh(stream, aad_size=20, msg_size=40):
    key, aad, iv, msg = (stream.bytes(n) for n in (32, aad_size, 16, msg_size))
    return key, aad, iv, msg, *seal(key, aad, iv, msg)


def modified(file):
    stream = file.stream
    key, aad, iv, msg, ct, tag = fresh(stream)

    def tags(comment, wrong):
        add(file, "invalid", comment, ["ModifiedTag"], key, aad, iv, msg, ct, wrong)

    for bit in (0, 1, 7, 8, 31, 32, 63, 64, 127, 128, 129, 191, 192, 247, 248, 254, 255):
        tags(f"bit {bit} of the tag flipped", flip(tag, bit))
    tags("bit 0 of two bytes of the tag flipped", flip(flip(tag, 0), 128))
    tags("tag of zeros", bytes(32))
    tags("tag of ones", b"\xff" * 32)
    tags("tag inverted", bytes(b ^ 0xFF for b in tag))
    tags("tag reversed", tag[::-1])
    tags("halves of the tag exchanged", tag[16:] + tag[:16])
    tags("second half of the tag zeroed", tag[:16] + bytes(16))
    tags("tag of another message under the same key", seal(key, aad, iv, b"another")[1])
    for bit in (0, 1, 63, 64, 120, 127):
        add(
            file,
            "invalid",
            f"bit {bit} of the IV flipped",
            ["ModifiedIv"],
            key,
            aad,
            flip(iv, bit),
            msg,
            ct,
            tag,
        )
    add(file, "invalid", "IV of zeros for the one used", ["ModifiedIv"], key, aad, bytes(16), msg, ct, tag)
    for bit in (0, 7, 127, 128, 200, 255, 256, 383):
        add(
            file,
            "invalid",
            f"bit {bit} of the ciphertext flipped",
            ["ModifiedCiphertext"],
            key,
            aad,
            iv,
            msg,
            flip(ct, bit),
            tag,
        )
    for comment, wrong in (
        ("last block dropped", ct[:-16]),
        ("first block dropped", ct[16:]),
        ("no ciphertext", b""),
        ("blocks exchanged", ct[16:32] + ct[:16] + ct[32:]),
        ("last block doubled", ct + ct[-16:]),
        ("a block of zeros added", ct + bytes(16)),
    ):
        add(file, "invalid", comment, ["ModifiedCiphertext"], key, aad, iv, msg, wrong, tag)
    for comment, wrong in (
        ("bit 0 of the header flipped", flip(aad, 0)),
        ("last bit of the header flipped", flip(aad, 159)),
        ("no header", b""),
        ("header without its last byte", aad[:-1]),
        ("header without its first byte", aad[1:]),
        ("a zero byte after the header", aad + b"\0"),
        ("a zero byte before the header", b"\0" + aad),
        ("header doubled", aad + aad),
    ):
        add(file, "invalid", comment, ["ModifiedAad"], key, wrong, iv, msg, ct, tag)
    for bit in (0, 127, 255):
        add(
            file,
            "invalid",
            f"bit {bit} of the key flipped",
            ["WrongKey"],
            flip(key, bit),
            aad,
            iv,
            msg,
            ct,
            tag,
        )
    add(file, "invalid", "another key", ["WrongKey"], stream.bytes(32), aad, iv, msg, ct, tag)
    # The same bytes under the tag, cut elsewhere: the length in front of the header tells them apart.
    key, aad, iv, msg, ct, tag = fresh(stream, 32)
    for moved in (1, 16):
        joined = aad + iv + ct
        cut = len(aad) - moved
        add(
            file,
            "invalid",
            f"{moved} bytes moved from the header to the IV and on",
            ["Boundary"],
            key,
            joined[:cut],
            joined[cut : cut + 16],
            msg,
            joined[cut + 16 :],
            tag,
        )
        cut = len(aad) + moved
        add(
            file,
            "invalid",
            f"{moved} bytes moved from the IV to the header",
            ["Boundary"],
            key,
            joined[:cut],
            joined[cut : cut + 16],
            msg,
            joined[cut + 16 :],
            tag,
        )


def resized(file):
    stream = file.stream
    for size in (*range(0, 32), 33, 48, 64):
        key, aad, iv, msg, ct, tag = fresh(stream, 12, 20)
        add(
            file, "invalid", f"tag of {size} bytes", ["InvalidTagSize"], key, aad, iv, msg, ct, fit(tag, size)
        )
    for size in (*range(1, 16), 17, 31):
        key, aad, iv, msg, ct, tag = fresh(stream, 12, 40)
        add(
            file,
            "invalid",
            f"ciphertext cut to {size} bytes, tag not changed",
            ["InvalidCiphertextSize"],
            key,
            aad,
            iv,
            msg,
            ct[:size],
            tag,
        )
    for size in (0, 8, 11, 12, 13, 15, 17, 32):
        key, aad, iv, msg = stream.bytes(32), stream.bytes(12), stream.bytes(size), stream.bytes(20)
        enc_key, mac_key = keys(key)
        ct = encrypt(enc_key, fit(iv, 16), msg)
        add(
            file,
            "invalid",
            f"IV of {size} bytes under a correct MAC",
            ["InvalidIvSize"],
            key,
            aad,
            iv,
            msg,
            ct,
            tag_of(mac_key, aad, iv, ct),
        )
    for size in (8, 15, 16, 17, 24, 31, 33, 64):
        key, aad, iv, msg = stream.bytes(size), stream.bytes(12), stream.bytes(16), stream.bytes(20)
        add(
            file,
            "invalid",
            f"master key of {size} bytes, keys derived from it",
            ["InvalidKeySize"],
            key,
            aad,
            iv,
            msg,
            *seal(key, aad, iv, msg),
        )
        add(
            file,
            "invalid",
            f"master key of {size} bytes, keys derived from it cut or filled to 32",
            ["InvalidKeySize"],
            key,
            aad,
            iv,
            msg,
            *seal(fit(key, 32), aad, iv, msg),
        )
    aad, iv, msg = stream.bytes(12), stream.bytes(16), stream.bytes(20)
    add(
        file,
        "invalid",
        "empty master key, keys derived from 32 zeros",
        ["InvalidKeySize"],
        b"",
        aad,
        iv,
        msg,
        *seal(bytes(32), aad, iv, msg),
    )


def wrong_constructions(file):
    stream = file.stream

    def tags(comment, build):
        key, aad, iv, msg, ct, tag = fresh(stream)
        wrong = build(keys(key)[1], aad, iv, ct, key, msg)
        assert wrong != tag, comment
        add(file, "invalid", comment, ["WrongConstruction"], key, aad, iv, msg, ct, wrong)

    def mac(key, data):
        return hmac("sha256", key, data)

    def be64(number):
        return number.to_bytes(8, "big")

    tags("MAC without the length of the header", lambda k, a, i, c, *_: mac(k, a + i + c))
    tags(
        "length of the header in little-endian order",
        lambda k, a, i, c, *_: mac(k, len(a).to_bytes(8, "little") + a + i + c),
    )
    tags("length of the header in bits", lambda k, a, i, c, *_: mac(k, be64(8 * len(a)) + a + i + c))
    tags(
        "length of the header in 4 bytes",
        lambda k, a, i, c, *_: mac(k, len(a).to_bytes(4, "big") + a + i + c),
    )
    tags(
        "length of the header at the end, as in RFC 7518",
        lambda k, a, i, c, *_: mac(k, a + i + c + be64(8 * len(a))),
    )
    tags(
        "lengths of header and ciphertext",
        lambda k, a, i, c, *_: mac(k, be64(len(a)) + a + i + c + be64(len(c))),
    )
    tags("MAC without the header", lambda k, a, i, c, *_: mac(k, be64(len(a)) + i + c))
    tags("MAC without the IV", lambda k, a, i, c, *_: mac(k, be64(len(a)) + a + c))
    tags("MAC of the ciphertext alone", lambda k, a, i, c, *_: mac(k, c))
    tags("MAC of IV and ciphertext alone", lambda k, a, i, c, *_: mac(k, i + c))
    tags("MAC without the ciphertext", lambda k, a, i, c, *_: mac(k, be64(len(a)) + a + i))
    tags("MAC without the last block", lambda k, a, i, c, *_: mac(k, be64(len(a)) + a + i + c[:-16]))
    tags("ciphertext before the IV", lambda k, a, i, c, *_: mac(k, be64(len(a)) + a + c + i))
    tags("IV before the header", lambda k, a, i, c, *_: mac(k, be64(len(a)) + i + a + c))
    tags("MAC of the plaintext", lambda k, a, i, c, key, msg: mac(k, be64(len(a)) + a + i + msg))
    tags("MAC with the master key", lambda k, a, i, c, key, msg: tag_of(key, a, i, c))
    tags("MAC with the encryption key", lambda k, a, i, c, key, msg: tag_of(keys(key)[0], a, i, c))
    tags(
        "MAC with HMAC-SHA-512 cut to 32 bytes",
        lambda k, a, i, c, *_: hmac("sha512", k, be64(len(a)) + a + i + c)[:32],
    )
    tags(
        "plain SHA-256 of key and data",
        lambda k, a, i, c, *_: library.digest("sha256", k + be64(len(a)) + a + i + c),
    )

    def key_pairs(comment, derive):
        key, aad, iv, msg = stream.bytes(32), stream.bytes(20), stream.bytes(16), stream.bytes(40)
        enc_key, mac_key = derive(key)
        assert mac_key != keys(key)[1]
        ct = encrypt(enc_key, iv, msg)
        add(
            file,
            "invalid",
            comment,
            ["WrongConstruction"],
            key,
            aad,
            iv,
            msg,
            ct,
            tag_of(mac_key, aad, iv, ct),
        )

    def derived(key, enc_info=ENC, mac_info=MAC, salt=b"", digest="sha256"):
        return hkdf(digest, key, salt, enc_info, 32), hkdf(digest, key, salt, mac_info, 32)

    key_pairs("keys swapped", lambda k: derived(k, MAC, ENC))
    key_pairs("master key for both", lambda k: (k, k))
    key_pairs("encryption key for both", lambda k: derived(k, ENC, ENC))
    key_pairs("labels of version 2", lambda k: derived(k, ENC[:-1] + b"2", MAC[:-1] + b"2"))
    key_pairs("labels in upper case", lambda k: derived(k, ENC.upper(), MAC.upper()))
    key_pairs("labels with a zero byte at the end", lambda k: derived(k, ENC + b"\0", MAC + b"\0"))
    key_pairs(
        "no labels, one output of 64 bytes",
        lambda k: (hkdf("sha256", k, b"", b"", 64)[:32], hkdf("sha256", k, b"", b"", 64)[32:]),
    )
    key_pairs(
        "label used as salt", lambda k: (hkdf("sha256", k, ENC, b"", 32), hkdf("sha256", k, MAC, b"", 32))
    )
    key_pairs("keys derived with SHA-512", lambda k: derived(k, digest="sha512"))
    key_pairs(
        "halves of the master key hashed",
        lambda k: (library.digest("sha256", k[:16]), library.digest("sha256", k[16:])),
    )


def authenticated_nonsense(file):
    """A correct MAC over what cannot be decrypted: only the right key makes these, and they are refused alike."""
    stream = file.stream

    def case(comment, flag, build, msg):
        key, aad, iv = stream.bytes(32), stream.bytes(12), stream.bytes(16)
        enc_key, mac_key = keys(key)
        ct = build(enc_key, iv)
        must_refuse(enc_key, iv, ct)
        add(
            file,
            "invalid",
            "correct MAC: " + comment,
            [flag],
            key,
            aad,
            iv,
            msg,
            ct,
            tag_of(mac_key, aad, iv, ct),
        )

    for comment, flag, padded, lenient in bad_paddings(stream):
        case(comment, flag, lambda k, i: encrypt_blocks(k, i, padded), lenient)
    text = stream.bytes(40)
    for size in (0, *range(1, 16), 17, 31, 33):
        case(
            f"ciphertext of {size} bytes",
            "InvalidCiphertextSize",
            lambda k, i: encrypt(k, i, text)[:size],
            b"",
        )
    for size in (16, 24):
        case(
            f"encrypted under the first {size} bytes of the key",
            "WrongConstruction",
            lambda k, i: wrong_padding_block(k, i, size),
            b"",
        )


def wrong_padding_block(key, iv, size):
    """Ciphertext of AES with a shorter key, for the first message whose padding is not right by chance."""
    for number in range(256):
        ct = encrypt(key[:size], iv, bytes([number]) * 20)
        try:
            must_refuse(key, iv, ct)
            return ct
        except AssertionError:
            continue
    raise AssertionError("no such message")
