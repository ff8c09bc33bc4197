"""Ed25519 in plain Python, from RFC 8032 section 5.1, with the pieces that odd signatures are made of."""

from reference import pure_hash

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
IDENTITY = (0, 1)


def add(a, b):
    """The sum of two points in affine coordinates; the formula is complete on this curve."""
    (x1, y1), (x2, y2) = a, b
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, P - 2, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, P - 2, P)
    return x % P, y % P


def _extended_add(a, b):
    x1, y1, z1, t1 = a
    x2, y2, z2, t2 = b
    m, n = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = n - m, d - c, d + c, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, point):
    x, y = point
    total, power = (0, 1, 1, 0), (x, y, 1, x * y % P)
    while scalar:
        if scalar & 1:
            total = _extended_add(total, power)
        power = _extended_add(power, power)
        scalar >>= 1
    inverse = pow(total[2], P - 2, P)
    return total[0] * inverse % P, total[1] * inverse % P


def recover_x(y, sign):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P:
        raise ValueError("not on the curve")
    if x == 0 and sign:
        raise ValueError("negative zero")
    return P - x if x & 1 != sign else x


BASE = (recover_x(4 * pow(5, P - 2, P) % P, 0), 4 * pow(5, P - 2, P) % P)


def encode(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def decode(data):
    value = int.from_bytes(data, "little")
    y, sign = value & ((1 << 255) - 1), value >> 255
    if len(data) != 32 or y >= P:
        raise ValueError("not canonical")
    return recover_x(y, sign), y


def torsion_points():
    """The eight points of small order, the identity first, as multiples of one point of order 8."""
    y = 2
    while True:
        try:
            point = multiply(L, (recover_x(y, 0), y))
        except ValueError:
            point = IDENTITY
        if multiply(4, point) != IDENTITY:
            return [multiply(i, point) for i in range(8)]
        y += 1


def challenge(r, public, message, prefix=b""):
    return int.from_bytes(pure_hash.digest("sha512", prefix + r + public + message), "little") % L


def expand(seed):
    digest = pure_hash.digest("sha512", seed)
    scalar = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | 1 << 254
    return scalar, digest[32:]


def public_key(seed):
    return encode(multiply(expand(seed)[0], BASE))


def sign(seed, message, prefix=b""):
    """A signature; `prefix` is the domain separator of Ed25519ctx and Ed25519ph, empty for Ed25519."""
    scalar, nonce_key = expand(seed)
    nonce = int.from_bytes(pure_hash.digest("sha512", prefix + nonce_key + message), "little") % L
    r = encode(multiply(nonce, BASE))
    s = (nonce + challenge(r, public_key(seed), message, prefix) * scalar) % L
    return r + s.to_bytes(32, "little")


def verify(public, message, signature):
    """Section 5.1.7 without the cofactor, as most implementations do it."""
    if len(signature) != 64:
        return False
    try:
        a, r = decode(public), decode(signature[:32])
    except ValueError:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    return multiply(s, BASE) == add(r, multiply(challenge(signature[:32], public, message), a))
