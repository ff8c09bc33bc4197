"""RSA signatures with SHA-256 (RFC 8017), in plain Python."""

import hashlib

PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")


def pkcs1(message, size):
    """EMSA-PKCS1-v1_5."""
    digest = PREFIX + hashlib.sha256(message).digest()
    return b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest


def mask(seed, size):
    """MGF1."""
    blocks = range(-(-size // 32))
    return b"".join(hashlib.sha256(seed + i.to_bytes(4, "big")).digest() for i in blocks)[:size]


def pss(message, size, salt):
    """EMSA-PSS for a modulus of `size` whole bytes."""
    digest = hashlib.sha256(bytes(8) + hashlib.sha256(message).digest() + salt).digest()
    data = bytes(size - len(salt) - 34) + b"\1" + salt
    masked = bytearray(a ^ b for a, b in zip(data, mask(digest, len(data))))
    masked[0] &= 0x7F
    return bytes(masked) + digest + b"\xbc"


def sign(n, d, encoded):
    return pow(int.from_bytes(encoded, "big"), d, n).to_bytes(len(encoded), "big")


def prime(stream, size):
    """The first number of the stream with its two highest bits set that passes 24 rounds of Miller-Rabin."""
    while True:
        number = int.from_bytes(stream.bytes(size), "big") | 3 << size * 8 - 2 | 1
        if all(number % small for small in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31)) and is_prime(number):
            if (number - 1) % 65537:
                return number


def is_prime(number):
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in range(2, 26):
        value = pow(base, odd, number)
        if value in (1, number - 1):
            continue
        for _ in range(twos - 1):
            value = value * value % number
            if value == number - 1:
                break
        else:
            return False
    return True


def key(stream, bits=2048):
    """A modulus and its private exponent for 65537."""
    p, q = prime(stream, bits // 16), prime(stream, bits // 16)
    return p * q, pow(65537, -1, (p - 1) * (q - 1))
