"""SHA-1, SHA-2, HMAC and HKDF in plain Python, written from FIPS 180-4, RFC 2104 and RFC 5869."""


def _primes(count):
    found = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found


def _root(value, degree):
    """The integer part of the root, by bisection."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
    return low


def _fraction(prime, degree, bits):
    """The first bits of the fractional part of a root of a prime: where the constants of SHA-2 come from."""
    return _root(prime << (degree * bits), degree) % (1 << bits)


K256 = [_fraction(p, 3, 32) for p in _primes(64)]
K512 = [_fraction(p, 3, 64) for p in _primes(80)]
START = {
    "sha224": [_fraction(p, 2, 64) & 0xFFFFFFFF for p in _primes(16)[8:]],
    "sha256": [_fraction(p, 2, 32) for p in _primes(8)],
    "sha384": [_fraction(p, 2, 64) for p in _primes(16)[8:]],
    "sha512": [_fraction(p, 2, 64) for p in _primes(8)],
}
SIZE = {"sha1": 20, "sha224": 28, "sha256": 32, "sha384": 48, "sha512": 64}
BLOCK = {"sha1": 64, "sha224": 64, "sha256": 64, "sha384": 128, "sha512": 128}


def _padded(data, block):
    length = block // 8
    zeros = -(len(data) + 1 + length) % block
    return data + b"\x80" + bytes(zeros) + (8 * len(data)).to_bytes(length, "big")


def _sha1(data):
    mask = 0xFFFFFFFF

    def rotate(x, n):
        return (x << n | x >> (32 - n)) & mask

    h = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0]
    data = _padded(data, 64)
    for start in range(0, len(data), 64):
        w = [int.from_bytes(data[i : i + 4], "big") for i in range(start, start + 64, 4)]
        for t in range(16, 80):
            w.append(rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1))
        a, b, c, d, e = h
        for t in range(80):
            if t < 20:
                f, k = (b & c) | (~b & d & mask), 0x5A827999
            elif t < 40:
                f, k = b ^ c ^ d, 0x6ED9EBA1
            elif t < 60:
                f, k = (b & c) | (b & d) | (c & d), 0x8F1BBCDC
            else:
                f, k = b ^ c ^ d, 0xCA62C1D6
            a, b, c, d, e = (rotate(a, 5) + f + e + k + w[t]) & mask, a, rotate(b, 30), c, d
        h = [(x + y) & mask for x, y in zip(h, (a, b, c, d, e))]
    return b"".join(x.to_bytes(4, "big") for x in h)


def _sha2(name, data):
    wide = name in ("sha384", "sha512")
    bits, block, k = (64, 128, K512) if wide else (32, 64, K256)
    big0, big1, small0, small1 = (
        ((28, 34, 39), (14, 18, 41), (1, 8, 7), (19, 61, 6))
        if wide
        else ((2, 13, 22), (6, 11, 25), (7, 18, 3), (17, 19, 10))
    )
    mask = (1 << bits) - 1

    def rotate(x, n):
        return (x >> n | x << (bits - n)) & mask

    def big(x, r):
        return rotate(x, r[0]) ^ rotate(x, r[1]) ^ rotate(x, r[2])

    def small(x, r):
        return rotate(x, r[0]) ^ rotate(x, r[1]) ^ x >> r[2]

    state = list(START[name])
    data = _padded(data, block)
    for start in range(0, len(data), block):
        step = bits // 8
        w = [int.from_bytes(data[i : i + step], "big") for i in range(start, start + block, step)]
        for t in range(16, len(k)):
            w.append((small(w[t - 2], small1) + w[t - 7] + small(w[t - 15], small0) + w[t - 16]) & mask)
        a, b, c, d, e, f, g, h = state
        for t in range(len(k)):
            t1 = h + big(e, big1) + ((e & f) ^ (~e & mask & g)) + k[t] + w[t]
            t2 = big(a, big0) + ((a & b) ^ (a & c) ^ (b & c))
            a, b, c, d, e, f, g, h = (t1 + t2) & mask, a, b, c, (d + t1) & mask, e, f, g
        state = [(x + y) & mask for x, y in zip(state, (a, b, c, d, e, f, g, h))]
    return b"".join(x.to_bytes(bits // 8, "big") for x in state)[: SIZE[name]]


def digest(name, data):
    return _sha1(data) if name == "sha1" else _sha2(name, data)


def hmac(name, key, message):
    if len(key) > BLOCK[name]:
        key = digest(name, key)
    key += bytes(BLOCK[name] - len(key))
    inner = digest(name, bytes(b ^ 0x36 for b in key) + message)
    return digest(name, bytes(b ^ 0x5C for b in key) + inner)


def hkdf(name, ikm, salt, info, size):
    if not 1 <= size <= 255 * SIZE[name]:
        raise ValueError("HKDF size")
    prk = hmac(name, salt or bytes(SIZE[name]), ikm)
    okm, block = b"", b""
    for i in range(1, -(-size // SIZE[name]) + 1):
        block = hmac(name, prk, block + info + bytes([i]))
        okm += block
    return okm[:size]


def pbkdf2(name, password, salt, rounds, size):
    """RFC 8018 section 5.2; only for small numbers of rounds."""
    if rounds < 1 or not 1 <= size <= 0xFFFFFFFF * SIZE[name]:
        raise ValueError("PBKDF2 parameters")
    out = b""
    for i in range(1, -(-size // SIZE[name]) + 1):
        u = hmac(name, password, salt + i.to_bytes(4, "big"))
        total = int.from_bytes(u, "big")
        for _ in range(rounds - 1):
            u = hmac(name, password, u)
            total ^= int.from_bytes(u, "big")
        out += total.to_bytes(SIZE[name], "big")
    return out[:size]
