"""X25519 public keys (RFC 7748, section 5), in plain Python."""

P = 2**255 - 19


def public_key(secret):
    scalar = int.from_bytes(secret, "little") & ~7 & ~(1 << 255) | 1 << 254
    # The ladder of the section, with the differential coordinates of the base point 9.
    x2, z2, x3, z3, swapped = 1, 0, 9, 1, 0
    for place in reversed(range(255)):
        bit = scalar >> place & 1
        if bit != swapped:
            x2, z2, x3, z3 = x3, z3, x2, z2
        swapped = bit
        total, difference = x2 + z2, x2 - z2
        squared, other = total * total % P, difference * difference % P
        gap = squared - other
        left, right = (x3 - z3) * total % P, (x3 + z3) * difference % P
        x3, z3 = (left + right) ** 2 % P, 9 * (left - right) ** 2 % P
        x2, z2 = squared * other % P, gap * (squared + 121665 * gap) % P
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")
