"""AES and its modes in plain Python, written from FIPS 197, SP 800-38A, SP 800-38D, RFC 3394 and RFC 5649.

Slow and not constant-time: it exists only to check other implementations.
"""

BLOCK = 16


def _multiply(a, b):
    """The product of two elements of GF(2^8) modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        if a & 0x100:
            a ^= 0x11B
        b >>= 1
    return product


def _make_sbox():
    """The S-box from its definition: the inverse in GF(2^8), then the affine map."""
    sbox = []
    for value in range(256):
        inverse = next((x for x in range(256) if _multiply(value, x) == 1), 0)
        result = 0x63
        for shift in range(5):
            result ^= ((inverse << shift) | (inverse >> (8 - shift))) & 0xFF
        sbox.append(result)
    return sbox


SBOX = _make_sbox()
INVERSE_SBOX = [SBOX.index(value) for value in range(256)]
TIMES = {factor: [_multiply(factor, x) for x in range(256)] for factor in (2, 3, 9, 11, 13, 14)}
# Where each byte of the state comes from after ShiftRows; the state is column by column.
SHIFT = [(4 * ((i // 4 + i % 4) % 4)) + i % 4 for i in range(16)]
UNSHIFT = [SHIFT.index(i) for i in range(16)]


class AES:
    """The block cipher under one key of 16, 24 or 32 bytes."""

    def __init__(self, key):
        if len(key) not in (16, 24, 32):
            raise ValueError("AES key size")
        words = [list(key[i : i + 4]) for i in range(0, len(key), 4)]
        count = len(words)
        constant = 1
        while len(words) < 4 * (count + 7):
            word = list(words[-1])
            if len(words) % count == 0:
                word = [SBOX[b] for b in word[1:] + word[:1]]
                word[0] ^= constant
                constant = _multiply(constant, 2)
            elif count == 8 and len(words) % count == 4:
                word = [SBOX[b] for b in word]
            words.append([a ^ b for a, b in zip(word, words[-count])])
        flat = [byte for word in words for byte in word]
        self.round_keys = [flat[i : i + 16] for i in range(0, len(flat), 16)]

    def encrypt(self, block):
        two, three = TIMES[2], TIMES[3]
        state = [a ^ b for a, b in zip(block, self.round_keys[0])]
        for key in self.round_keys[1:-1]:
            s = [SBOX[state[i]] for i in SHIFT]
            state = []
            for c in range(0, 16, 4):
                a, b, d, e = s[c : c + 4]
                state += [
                    two[a] ^ three[b] ^ d ^ e,
                    a ^ two[b] ^ three[d] ^ e,
                    a ^ b ^ two[d] ^ three[e],
                    three[a] ^ b ^ d ^ two[e],
                ]
            state = [a ^ b for a, b in zip(state, key)]
        return bytes(SBOX[state[i]] ^ k for i, k in zip(SHIFT, self.round_keys[-1]))

    def decrypt(self, block):
        nine, eleven, thirteen, fourteen = TIMES[9], TIMES[11], TIMES[13], TIMES[14]
        state = [a ^ b for a, b in zip(block, self.round_keys[-1])]
        for key in self.round_keys[-2:0:-1]:
            s = [INVERSE_SBOX[state[i]] ^ k for i, k in zip(UNSHIFT, key)]
            state = []
            for c in range(0, 16, 4):
                a, b, d, e = s[c : c + 4]
                state += [
                    fourteen[a] ^ eleven[b] ^ thirteen[d] ^ nine[e],
                    nine[a] ^ fourteen[b] ^ eleven[d] ^ thirteen[e],
                    thirteen[a] ^ nine[b] ^ fourteen[d] ^ eleven[e],
                    eleven[a] ^ thirteen[b] ^ nine[d] ^ fourteen[e],
                ]
        return bytes(INVERSE_SBOX[state[i]] ^ k for i, k in zip(UNSHIFT, self.round_keys[0]))


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def blocks_of(data):
    return [data[i : i + BLOCK] for i in range(0, len(data), BLOCK)]


# CBC with the padding of PKCS #5 (RFC 8018 section 6.1.1; for 16-byte blocks also called PKCS #7)


def pad(message):
    count = BLOCK - len(message) % BLOCK
    return message + bytes([count]) * count


def unpad(padded):
    count = padded[-1] if padded else 0
    if not 1 <= count <= BLOCK or padded[-count:] != bytes([count]) * count:
        raise ValueError("padding")
    return padded[:-count]


def cbc_encrypt_blocks(key, iv, padded):
    """CBC of whole blocks, without any padding of its own."""
    cipher, previous, out = AES(key), iv, b""
    if len(iv) != BLOCK or len(padded) % BLOCK:
        raise ValueError("CBC sizes")
    for block in blocks_of(padded):
        previous = cipher.encrypt(xor(block, previous))
        out += previous
    return out


def cbc_decrypt_blocks(key, iv, ciphertext):
    cipher, previous, out = AES(key), iv, b""
    if len(iv) != BLOCK or len(ciphertext) % BLOCK:
        raise ValueError("CBC sizes")
    for block in blocks_of(ciphertext):
        out += xor(cipher.decrypt(block), previous)
        previous = block
    return out


def cbc_encrypt(key, iv, message):
    return cbc_encrypt_blocks(key, iv, pad(message))


def cbc_decrypt(key, iv, ciphertext):
    if not ciphertext:
        raise ValueError("empty ciphertext")
    return unpad(cbc_decrypt_blocks(key, iv, ciphertext))


# GCM (SP 800-38D). Blocks are numbers whose most significant bit is the coefficient of x^0.

GCM_REDUCTION = 0xE1 << 120


def gcm_multiply(x, y):
    product = 0
    for i in range(127, -1, -1):
        if x >> i & 1:
            product ^= y
        y = (y >> 1) ^ (GCM_REDUCTION if y & 1 else 0)
    return product


def gcm_invert(x):
    """The inverse by Fermat: x^(2^128 - 2)."""
    result, square = 1 << 127, x
    for _ in range(127):
        square = gcm_multiply(square, square)
        result = gcm_multiply(result, square)
    return result


def _whole(data):
    return data + bytes(-len(data) % BLOCK)


def number(block):
    return int.from_bytes(block, "big")


def ghash(h, data):
    total = 0
    for block in blocks_of(data):
        total = gcm_multiply(total ^ number(block), h)
    return total


def gcm_lengths(aad, ciphertext):
    return (8 * len(aad)).to_bytes(8, "big") + (8 * len(ciphertext)).to_bytes(8, "big")


def gcm_start(key, iv):
    """The cipher, the hash key and the first counter block."""
    cipher = AES(key)
    h = number(cipher.encrypt(bytes(16)))
    if len(iv) == 12:
        return cipher, h, iv + b"\0\0\0\1"
    return cipher, h, ghash(h, _whole(iv) + gcm_lengths(b"", iv)).to_bytes(16, "big")


def gcm_stream(cipher, counter, data):
    out = b""
    for i, block in enumerate(blocks_of(data), 1):
        low = (number(counter[12:]) + i) % (1 << 32)
        out += xor(cipher.encrypt(counter[:12] + low.to_bytes(4, "big")), block)
    return out


def gcm_encrypt(key, iv, aad, message):
    cipher, h, counter = gcm_start(key, iv)
    ciphertext = gcm_stream(cipher, counter, message)
    total = ghash(h, _whole(aad) + _whole(ciphertext) + gcm_lengths(aad, ciphertext))
    return ciphertext, xor(total.to_bytes(16, "big"), cipher.encrypt(counter))


def gcm_decrypt(key, iv, aad, ciphertext, tag):
    cipher, _, counter = gcm_start(key, iv)
    message = gcm_stream(cipher, counter, ciphertext)
    if gcm_encrypt(key, iv, aad, message)[1] != tag:
        raise ValueError("tag")
    return message


# XAES-256-GCM (C2SP): GCM under a key that CMAC in counter mode (SP 800-38B, SP 800-108r1) derives


def cmac_subkey(cipher):
    """K1 of SP 800-38B section 6.1."""
    doubled = number(cipher.encrypt(bytes(16))) << 1
    return (doubled ^ (0x87 if doubled >> 128 else 0)).to_bytes(17, "big")[1:]


def xaes_key(key, nonce):
    if len(key) != 32 or len(nonce) != 24:
        raise ValueError("XAES-256-GCM sizes")
    cipher = AES(key)
    subkey = cmac_subkey(cipher)
    return b"".join(cipher.encrypt(xor(bytes((0, i)) + b"X\0" + nonce[:12], subkey)) for i in (1, 2))


def xaes_encrypt(key, nonce, aad, message):
    return gcm_encrypt(xaes_key(key, nonce), nonce[12:], aad, message)


def xaes_decrypt(key, nonce, aad, ciphertext, tag):
    return gcm_decrypt(xaes_key(key, nonce), nonce[12:], aad, ciphertext, tag)


# AES key wrap (RFC 3394) and key wrap with padding (RFC 5649)

WRAP_IV = b"\xa6" * 8
PADDED_IV = bytes.fromhex("a65959a6")


def wrap_raw(key, iv, message):
    """The wrapping function W of SP 800-38F over any initial value, for one semi-block or more."""
    cipher, a = AES(key), iv
    r = [message[i : i + 8] for i in range(0, len(message), 8)]
    for j in range(6):
        for i in range(len(r)):
            block = cipher.encrypt(a + r[i])
            a = xor(block[:8], (len(r) * j + i + 1).to_bytes(8, "big"))
            r[i] = block[8:]
    return a + b"".join(r)


def unwrap_raw(key, wrapped):
    cipher, a = AES(key), wrapped[:8]
    r = [wrapped[i : i + 8] for i in range(8, len(wrapped), 8)]
    for j in range(5, -1, -1):
        for i in range(len(r) - 1, -1, -1):
            block = cipher.decrypt(xor(a, (len(r) * j + i + 1).to_bytes(8, "big")) + r[i])
            a, r[i] = block[:8], block[8:]
    return a, b"".join(r)


def wrap(key, message):
    if len(message) < 16 or len(message) % 8:
        raise ValueError("wrap size")
    return wrap_raw(key, WRAP_IV, message)


def unwrap(key, wrapped):
    if len(wrapped) < 24 or len(wrapped) % 8:
        raise ValueError("unwrap size")
    a, message = unwrap_raw(key, wrapped)
    if a != WRAP_IV:
        raise ValueError("wrap integrity")
    return message


def wrap_padded_raw(key, iv, padded):
    """KWP over an initial value and padding that are already made."""
    return AES(key).encrypt(iv + padded) if len(padded) == 8 else wrap_raw(key, iv, padded)


def wrap_padded(key, message):
    if not message:
        raise ValueError("wrap size")
    iv = PADDED_IV + len(message).to_bytes(4, "big")
    return wrap_padded_raw(key, iv, message + bytes(-len(message) % 8))


def unwrap_padded(key, wrapped):
    if len(wrapped) < 16 or len(wrapped) % 8:
        raise ValueError("unwrap size")
    if len(wrapped) == 16:
        block = AES(key).decrypt(wrapped)
        a, padded = block[:8], block[8:]
    else:
        a, padded = unwrap_raw(key, wrapped)
    size = number(a[4:])
    if a[:4] != PADDED_IV or not len(padded) - 8 < size <= len(padded) or any(padded[size:]):
        raise ValueError("wrap integrity")
    return padded[:size]
