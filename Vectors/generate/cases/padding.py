"""Plaintext blocks whose PKCS #5 padding is wrong, for everything that is built on CBC."""


def bad_paddings(stream):
    """(comment, flag, whole blocks, what a lenient implementation would take the message to be)."""
    text = stream.bytes(64).replace(b"\x00", b"\x5a")
    out = []

    def case(comment, padded, flag="BadPadding"):
        last = padded[-1]
        lenient = padded[:-last] if 1 <= last <= 16 else padded
        assert len(padded) % 16 == 0
        assert not (1 <= last <= 16 and padded[-last:] == bytes([last]) * last), comment
        out.append((comment, flag, padded, lenient))

    case("no padding, one block", text[:15] + b"A", "NoPadding")
    case("no padding, two blocks", text[:31] + b"A", "NoPadding")
    case("pad byte 0x00 after 15 bytes", text[:15] + b"\x00")
    case("pad byte 0x00 at the end of two blocks", text[:31] + b"\x00")
    case("a block of 0x00", bytes(16))
    case("pad byte 0x11 at the end of one block", text[:15] + b"\x11")
    case("17 pad bytes 0x11 over two blocks", text[:15] + b"\x11" * 17)
    case("a block of 0x11", b"\x11" * 16)
    case("32 pad bytes 0x20 over two blocks", b"\x20" * 32)
    case("pad byte 0xff at the end of one block", text[:15] + b"\xff")
    case("a block of 0xff", b"\xff" * 16)
    case("pad byte 0x80 at the end of one block", text[:15] + b"\x80")
    case("pad bytes 0x88: 8 with the high bit set", text[:8] + b"\x88" * 8)
    case("zero padding after 5 bytes", text[:5] + bytes(11))
    case("ISO 7816-4 padding after 5 bytes", text[:5] + b"\x80" + bytes(10))
    case("ISO 7816-4 padding, a whole block", b"\x80" + bytes(15))
    case("ANSI X9.23 padding of 8 bytes", text[:8] + bytes(7) + b"\x08")
    case("ANSI X9.23 padding of 16 bytes", text[:16] + bytes(15) + b"\x10")
    case("ISO 10126 padding of 8 bytes", text[:8] + text[40:47] + b"\x08")
    case("ISO 10126 padding of 16 bytes", text[:16] + text[40:55] + b"\x10")
    case("8 pad bytes that say 9", text[:7] + b"A" + b"\x09" * 8)
    case("1 pad byte that says 2", text[:14] + b"A" + b"\x02")
    case("15 pad bytes that say 16", text[:16] + b"A" + b"\x10" * 15)
    for count in range(2, 17):
        padded = bytearray(text[: 16 - count] + bytes([count]) * count)
        padded[16 - count] ^= 0x01
        case(f"correct last byte 0x{count:02x}, first pad byte wrong", bytes(padded))
    for count in (3, 8, 16):
        padded = bytearray(text[: 16 - count] + bytes([count]) * count)
        padded[14] ^= 0x80
        case(f"correct last byte 0x{count:02x}, byte before it wrong", bytes(padded))
    for place in (5, 8):
        padded = bytearray(b"\x10" * 16)
        padded[place] = 0
        case(f"correct last byte 0x10, pad byte {place} zero", bytes(padded))
    return out


def padding_lookalikes(stream):
    """Good messages that end like padding, which unpadding twice or counting on would shorten."""
    text = stream.bytes(16)
    return [
        ("message ends in 0x01", text[:9] + b"\x01"),
        ("message ends in 7 bytes 0x07 before 9 pad bytes", b"\x07" * 7),
        ("message ends in 8 bytes 0x07 before 8 pad bytes", b"\x07" * 8),
        ("message is a block of 0x10", b"\x10" * 16),
        ("message ends in 0x00", text[:10] + b"\x00"),
        ("message of 15 zero bytes", bytes(15)),
        ("message is ISO 7816-4 padded itself", text[:4] + b"\x80" + bytes(11)),
        ("message of 32 bytes 0xff", b"\xff" * 32),
    ]
