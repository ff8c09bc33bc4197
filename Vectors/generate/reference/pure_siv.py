"""CMAC (NIST SP 800-38B), AES-SIV (RFC 5297) and AES_CBC_HMAC_SHA2 (RFC 7518 section 5.2) in plain Python."""

from reference import pure_hash
from reference.pure_aes import AES, cbc_decrypt, cbc_encrypt, cmac_subkey, gcm_encrypt, number, xor


def double(block):
    """Multiplication by x in the field of SP 800-38B section 5.3."""
    shifted = number(block) << 1
    return (shifted ^ (0x87 if shifted >> 128 else 0)).to_bytes(17, "big")[1:]


def cmac(key, message):
    cipher = AES(key)
    subkey = cmac_subkey(cipher)
    count = max(1, -(-len(message) // 16))
    last = message[16 * (count - 1) :]
    if len(last) == 16:
        last = xor(last, subkey)
    else:
        last = xor(last + b"\x80" + bytes(15 - len(last)), double(subkey))
    state = bytes(16)
    for i in range(count - 1):
        state = cipher.encrypt(xor(state, message[16 * i : 16 * i + 16]))
    return cipher.encrypt(xor(state, last))


def gmac(key, iv, message):
    return gcm_encrypt(key, iv, message, b"")[1]


def s2v(key, strings, message):
    state = cmac(key, bytes(16))
    for string in strings:
        state = xor(double(state), cmac(key, string))
    if len(message) >= 16:
        return cmac(key, message[:-16] + xor(message[-16:], state))
    return cmac(key, xor(double(state), message + b"\x80" + bytes(15 - len(message))))


def _stream(key, iv, data):
    cipher = AES(key)
    counter = number(iv) & ~(1 << 63 | 1 << 31)
    out = b""
    for i in range(-(-len(data) // 16)):
        out += cipher.encrypt(((counter + i) % (1 << 128)).to_bytes(16, "big"))
    return xor(out[: len(data)], data)


def siv_encrypt(key, strings, message):
    """The synthetic IV and, behind it, the ciphertext."""
    if len(key) not in (32, 48, 64):
        raise ValueError("AES-SIV key size")
    half = len(key) // 2
    iv = s2v(key[:half], strings, message)
    return iv + _stream(key[half:], iv, message)


def siv_decrypt(key, strings, sealed):
    if len(key) not in (32, 48, 64) or len(sealed) < 16:
        raise ValueError("AES-SIV sizes")
    half = len(key) // 2
    message = _stream(key[half:], sealed[:16], sealed[16:])
    if s2v(key[:half], strings, message) != sealed[:16]:
        raise ValueError("tag")
    return message


# Hash, and the size of each half of the key, which is the tag's too
JOSE = {"A128CBC-HS256": ("sha256", 16), "A192CBC-HS384": ("sha384", 24), "A256CBC-HS512": ("sha512", 32)}


def jose_tag(name, mac_key, aad, iv, ciphertext):
    digest, size = JOSE[name]
    data = aad + iv + ciphertext + (8 * len(aad)).to_bytes(8, "big")
    return pure_hash.hmac(digest, mac_key, data)[:size]


def jose_encrypt(name, key, iv, aad, message):
    size = JOSE[name][1]
    if len(key) != 2 * size:
        raise ValueError("key size")
    ciphertext = cbc_encrypt(key[size:], iv, message)
    return ciphertext, jose_tag(name, key[:size], aad, iv, ciphertext)


def jose_decrypt(name, key, iv, aad, ciphertext, tag):
    size = JOSE[name][1]
    if len(key) != 2 * size or len(iv) != 16 or tag != jose_tag(name, key[:size], aad, iv, ciphertext):
        raise ValueError("tag")
    return cbc_decrypt(key[size:], iv, ciphertext)
