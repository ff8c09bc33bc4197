"""ECDSA over P-256 with SHA-256 (FIPS 186-5), in plain Python."""

import hashlib

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
BASE = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def add(first, second):
    """The sum of two points; None is the one at infinity."""
    if first is None or second is None:
        return first or second
    (x1, y1), (x2, y2) = first, second
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P) if first == second else (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def multiply(scalar, point):
    total = None
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point, scalar = add(point, point), scalar >> 1
    return total


def encode(point):
    return b"\4" + point[0].to_bytes(32, "big") + point[1].to_bytes(32, "big")


def public_key(secret):
    return encode(multiply(secret, BASE))


def hashed(message):
    return int.from_bytes(hashlib.sha256(message).digest(), "big")


def sign(secret, nonce, message):
    """The numbers r and s for a nonce that the caller chooses."""
    r = multiply(nonce, BASE)[0] % N
    return r, pow(nonce, -1, N) * (hashed(message) + r * secret) % N


def verify(public, message, r, s):
    x, y = int.from_bytes(public[1:33], "big"), int.from_bytes(public[33:], "big")
    if len(public) != 65 or public[0] != 4 or x >= P or y >= P or (y * y - x * x * x + 3 * x - B) % P:
        return False
    if not (0 < r < N and 0 < s < N):
        return False
    inverse = pow(s, -1, N)
    point = add(multiply(hashed(message) * inverse % N, BASE), multiply(r * inverse % N, (x, y)))
    return point is not None and point[0] % N == r
