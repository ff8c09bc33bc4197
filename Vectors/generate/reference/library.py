"""The other implementation: pyca/cryptography (over OpenSSL) and the standard library, in the same shapes.

Everything that must be refused raises ValueError, whatever the library itself raises.
"""

import hashlib
import hmac as standard_hmac
import struct

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import cmac as pyca_cmac
from cryptography.hazmat.primitives import hashes, keywrap
from cryptography.hazmat.primitives import hmac as pyca_hmac
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.kbkdf import KBKDFCMAC, CounterLocation, Mode
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.padding import PKCS7
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

HASHES = {
    "sha1": hashes.SHA1,
    "sha224": hashes.SHA224,
    "sha256": hashes.SHA256,
    "sha384": hashes.SHA384,
    "sha512": hashes.SHA512,
}


def digest(name, data):
    return hashlib.new(name, data).digest()


def hmac(name, key, message):
    tag = standard_hmac.new(key, message, name).digest()
    if key:
        context = pyca_hmac.HMAC(key, HASHES[name]())
        context.update(message)
        assert context.finalize() == tag
    return tag


def hkdf(name, ikm, salt, info, size):
    if size < 1:
        raise ValueError("HKDF size")
    return HKDF(HASHES[name](), size, salt or None, info).derive(ikm)


def pbkdf2(name, password, salt, rounds, size):
    if rounds < 1 or rounds >= 1 << 31 or not 1 <= size <= 0xFFFFFFFF * hashlib.new(name).digest_size:
        raise ValueError("PBKDF2 parameters")
    return hashlib.pbkdf2_hmac(name, password, salt, rounds, size)


def pbkdf2_pyca(name, password, salt, rounds, size):
    return PBKDF2HMAC(HASHES[name](), size, salt, rounds).derive(password)


def pbkdf2_loop(name, password, salt, rounds, size):
    """PBKDF2 spelled out over the standard library's HMAC."""
    keyed = standard_hmac.new(password, b"", name)
    out = b""
    for i in range(1, -(-size // keyed.digest_size) + 1):
        u, total = salt + i.to_bytes(4, "big"), 0
        for _ in range(rounds):
            turn = keyed.copy()
            turn.update(u)
            u = turn.digest()
            total ^= int.from_bytes(u, "big")
        out += total.to_bytes(keyed.digest_size, "big")
    return out[:size]


def _cbc(key, iv):
    return Cipher(algorithms.AES(key), modes.CBC(iv))


def cbc_encrypt_blocks(key, iv, padded):
    context = _cbc(key, iv).encryptor()
    return context.update(padded) + context.finalize()


def cbc_encrypt(key, iv, message):
    padder = PKCS7(128).padder()
    return cbc_encrypt_blocks(key, iv, padder.update(message) + padder.finalize())


def cbc_decrypt(key, iv, ciphertext):
    context = _cbc(key, iv).decryptor()
    unpadder = PKCS7(128).unpadder()
    return unpadder.update(context.update(ciphertext) + context.finalize()) + unpadder.finalize()


def gcm_encrypt(key, iv, aad, message):
    sealed = AESGCM(key).encrypt(iv, message, aad)
    return sealed[:-16], sealed[-16:]


def gcm_decrypt(key, iv, aad, ciphertext, tag):
    if len(tag) != 16 or len(iv) != 12:
        raise ValueError("GCM sizes")
    try:
        return AESGCM(key).decrypt(iv, ciphertext + tag, aad)
    except InvalidTag:
        raise ValueError("tag") from None


def xaes_key(key, nonce):
    if len(key) != 32 or len(nonce) != 24:
        raise ValueError("XAES-256-GCM sizes")
    return KBKDFCMAC(
        algorithms.AES,
        Mode.CounterMode,
        length=32,
        rlen=2,
        llen=None,
        location=CounterLocation.BeforeFixed,
        label=None,
        context=None,
        fixed=b"X\0" + nonce[:12],
    ).derive(key)


def xaes_encrypt(key, nonce, aad, message):
    return gcm_encrypt(xaes_key(key, nonce), nonce[12:], aad, message)


def xaes_decrypt(key, nonce, aad, ciphertext, tag):
    return gcm_decrypt(xaes_key(key, nonce), nonce[12:], aad, ciphertext, tag)


def cmac(key, message):
    if len(key) not in (16, 24, 32):
        raise ValueError("AES key size")
    context = pyca_cmac.CMAC(algorithms.AES(key))
    context.update(message)
    return context.finalize()


def gmac(key, iv, message):
    return gcm_encrypt(key, iv, message, b"")[1]


def siv_encrypt(key, strings, message):
    return AESSIV(key).encrypt(message, strings)


def siv_decrypt(key, strings, sealed):
    if len(sealed) < 16:
        raise ValueError("AES-SIV sizes")
    try:
        return AESSIV(key).decrypt(sealed, strings)
    except InvalidTag:
        raise ValueError("tag") from None


# Hash, and the size of each half of the key, which is the tag's too
JOSE = {"A128CBC-HS256": ("sha256", 16), "A192CBC-HS384": ("sha384", 24), "A256CBC-HS512": ("sha512", 32)}


def jose_encrypt(name, key, iv, aad, message):
    digest, size = JOSE[name]
    if len(key) != 2 * size or len(iv) != 16:
        raise ValueError("sizes")
    ciphertext = cbc_encrypt(key[size:], iv, message)
    data = aad + iv + ciphertext + struct.pack(">Q", 8 * len(aad))
    return ciphertext, hmac(digest, key[:size], data)[:size]


def jose_decrypt(name, key, iv, aad, ciphertext, tag):
    digest, size = JOSE[name]
    if len(key) != 2 * size or len(iv) != 16 or len(tag) != size:
        raise ValueError("sizes")
    data = aad + iv + ciphertext + struct.pack(">Q", 8 * len(aad))
    if hmac(digest, key[:size], data)[:size] != tag:
        raise ValueError("tag")
    return cbc_decrypt(key[size:], iv, ciphertext)


def xaes_accumulated(count):
    """The specification's accumulated test: a digest over `count` messages drawn from SHAKE-128."""
    stream, position, digest = hashlib.shake_128().digest(580 * count), 0, hashlib.shake_128()

    def take(size):
        nonlocal position
        position += size
        return stream[position - size : position]

    for _ in range(count):
        key, nonce = take(32), take(24)
        message = take(take(1)[0])
        ciphertext, tag = xaes_encrypt(key, nonce, take(take(1)[0]), message)
        digest.update(ciphertext + tag)
    return digest.hexdigest(32)


def wrap(key, message):
    return keywrap.aes_key_wrap(key, message)


def unwrap(key, wrapped):
    try:
        return keywrap.aes_key_unwrap(key, wrapped)
    except keywrap.InvalidUnwrap:
        raise ValueError("unwrap") from None


def wrap_padded(key, message):
    if not message:
        raise ValueError("wrap size")
    return keywrap.aes_key_wrap_with_padding(key, message)


def unwrap_padded(key, wrapped):
    try:
        return keywrap.aes_key_unwrap_with_padding(key, wrapped)
    except keywrap.InvalidUnwrap:
        raise ValueError("unwrap") from None


def seal(key, nonce, aad, message):
    sealed = ChaCha20Poly1305(key).encrypt(nonce, message, aad)
    return sealed[:-16], sealed[-16:]


def open_(key, nonce, aad, ciphertext, tag):
    if len(tag) != 16:
        raise ValueError("tag size")
    try:
        return ChaCha20Poly1305(key).decrypt(nonce, ciphertext + tag, aad)
    except InvalidTag:
        raise ValueError("tag") from None


def hchacha(key, nonce):
    """HChaCha20 out of the library's ChaCha20: its first block minus the words that are publicly known."""
    context = Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor()
    words = struct.unpack("<16I", context.update(bytes(64)))
    known = struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<4I", nonce)
    chosen = words[:4] + words[12:]
    return struct.pack("<8I", *((a - b) & 0xFFFFFFFF for a, b in zip(chosen, known)))


def xseal(key, nonce, aad, message):
    if len(nonce) != 24:
        raise ValueError("nonce size")
    return seal(hchacha(key, nonce[:16]), bytes(4) + nonce[16:], aad, message)


def xopen(key, nonce, aad, ciphertext, tag):
    if len(nonce) != 24:
        raise ValueError("nonce size")
    return open_(hchacha(key, nonce[:16]), bytes(4) + nonce[16:], aad, ciphertext, tag)


def ed25519_public_key(seed):
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key()
    return public.public_bytes(Encoding.Raw, PublicFormat.Raw)


def ed25519_sign(seed, message):
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def ed25519_verify(public, message, signature):
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        return True
    except (ValueError, InvalidSignature):
        return False


def x25519_public_key(secret):
    public = X25519PrivateKey.from_private_bytes(secret).public_key()
    return public.public_bytes(Encoding.Raw, PublicFormat.Raw)


def p256_public_key(secret):
    public = ec.derive_private_key(secret, ec.SECP256R1()).public_key()
    return public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def p256_verify(public, message, signature):
    """Whether a signature in DER is valid."""
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public)
        key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        return True
    except (ValueError, InvalidSignature):
        return False


def rsa_verify(n, e, message, signature, scheme):
    """Whether a signature is valid; the scheme is pkcs1 or pss, with a salt of 32 bytes."""
    mask = padding.MGF1(hashes.SHA256())
    kind = padding.PKCS1v15() if scheme == "pkcs1" else padding.PSS(mask, 32)
    try:
        rsa.RSAPublicNumbers(e, n).public_key().verify(signature, message, kind, hashes.SHA256())
        return True
    except (ValueError, InvalidSignature):
        return False


def rsa_sign(file, message):
    """The public numbers of a key in PKCS #8, and its signature with PKCS #1 v1.5."""
    key = load_der_private_key(file, None)
    numbers = key.public_key().public_numbers()
    return (numbers.n, numbers.e), key.sign(message, padding.PKCS1v15(), hashes.SHA256())
