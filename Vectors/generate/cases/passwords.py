"""Passwords that go wrong in interfaces, shared by everything that is built on PBKDF2."""

# The same text composed (NFC) and decomposed (NFD); escapes keep editors from normalising this file.
COMPOSED = ("caf\u00e9", "\u00c5ngstr\u00f6m", "\uac00\ub098\ub2e4", "\u1e69")
DECOMPOSED = ("cafe\u0301", "A\u030angstro\u0308m", "\u1100\u1161\u1102\u1161\u1103\u1161", "s\u0323\u0307")

NON_UTF_8 = (
    ("a lone continuation byte", b"pass\x80word"),
    ("0xff and 0xfe", b"\xff\xfe\xfd\xfc"),
    ("an overlong slash", b"\xc0\xaf"),
    ("an encoded surrogate", b"\xed\xa0\x80"),
    ("a sequence that is cut off", b"caf\xc3"),
    ("a code point over U+10FFFF", b"\xf4\x90\x80\x80"),
)


def mended(password):
    """What is left after a detour through a text type that replaces what it cannot read."""
    return password.decode("utf-8", errors="replace").encode()
