"""ChaCha20, Poly1305 and the two AEADs in plain Python, from RFC 8439 and draft-irtf-cfrg-xchacha-03."""

import struct

P1305 = (1 << 130) - 5
MASK = 0xFFFFFFFF
CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")


def _quarter(s, a, b, c, d):
    for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] = (s[x] + s[y]) & MASK
        v = s[z] ^ s[x]
        s[z] = (v << turn | v >> (32 - turn)) & MASK


def _rounds(state):
    s = list(state)
    for _ in range(10):
        _quarter(s, 0, 4, 8, 12)
        _quarter(s, 1, 5, 9, 13)
        _quarter(s, 2, 6, 10, 14)
        _quarter(s, 3, 7, 11, 15)
        _quarter(s, 0, 5, 10, 15)
        _quarter(s, 1, 6, 11, 12)
        _quarter(s, 2, 7, 8, 13)
        _quarter(s, 3, 4, 9, 14)
    return s


def block(key, counter, nonce):
    state = CONSTANTS + struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce)
    return struct.pack("<16I", *((a + b) & MASK for a, b in zip(_rounds(state), state)))


def stream(key, counter, nonce, data):
    out = b""
    for i in range(0, len(data), 64):
        out += bytes(a ^ b for a, b in zip(data[i : i + 64], block(key, counter + i // 64, nonce)))
    return out


def hchacha(key, nonce):
    s = _rounds(CONSTANTS + struct.unpack("<8I", key) + struct.unpack("<4I", nonce))
    return struct.pack("<8I", *s[:4], *s[12:])


def clamp(r):
    return int.from_bytes(r, "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF


def poly1305_sum(r, data, start=0):
    """The accumulator before the secret addend: a number modulo 2^130 - 5."""
    total = start
    for i in range(0, len(data), 16):
        total = (total + int.from_bytes(data[i : i + 16] + b"\1", "little")) * r % P1305
    return total


def poly1305(key, data):
    total = poly1305_sum(clamp(key[:16]), data) + int.from_bytes(key[16:], "little")
    return (total % (1 << 128)).to_bytes(16, "little")


def _whole(data):
    return data + bytes(-len(data) % 16)


def lengths(aad, ciphertext):
    return struct.pack("<QQ", len(aad), len(ciphertext))


def seal(key, nonce, aad, message):
    if len(key) != 32 or len(nonce) != 12:
        raise ValueError("ChaCha20-Poly1305 sizes")
    ciphertext = stream(key, 1, nonce, message)
    one_time = block(key, 0, nonce)[:32]
    return ciphertext, poly1305(one_time, _whole(aad) + _whole(ciphertext) + lengths(aad, ciphertext))


def open_(key, nonce, aad, ciphertext, tag):
    if len(key) != 32 or len(nonce) != 12:
        raise ValueError("ChaCha20-Poly1305 sizes")
    message = stream(key, 1, nonce, ciphertext)
    if seal(key, nonce, aad, message)[1] != tag:
        raise ValueError("tag")
    return message


def xseal(key, nonce, aad, message):
    if len(key) != 32 or len(nonce) != 24:
        raise ValueError("XChaCha20-Poly1305 sizes")
    return seal(hchacha(key, nonce[:16]), bytes(4) + nonce[16:], aad, message)


def xopen(key, nonce, aad, ciphertext, tag):
    if len(key) != 32 or len(nonce) != 24:
        raise ValueError("XChaCha20-Poly1305 sizes")
    return open_(hchacha(key, nonce[:16]), bytes(4) + nonce[16:], aad, ciphertext, tag)
