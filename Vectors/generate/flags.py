"""Every flag that a case can carry. A file's `notes` explains the ones it uses."""

FLAGS = {
    # where a case comes from
    "Published": ("BASIC", "A known answer retyped from the standard that the group's source names."),
    "Pseudorandom": ("BASIC", "Inputs drawn from the generator's seeded stream."),
    "LargeMessage": ("BASIC", "A message around 1024 or 4096 bytes, or a key derivation's longest output."),
    "EdgeCase": ("EDGE_CASE", "Inputs chosen so that an intermediate or final value sits at a limit."),
    "Slow": ("BASIC", "Takes seconds. A verifier may skip it with the code `slow` unless asked."),
    # sizes
    "InvalidKeySize": (
        "WRONG_LENGTH",
        "The key has a size that the algorithm does not have. The ciphertext is the "
        "one for the key cut or zero-filled to the next size, so that repairing the key shows.",
    ),
    "InvalidIvSize": (
        "WRONG_LENGTH",
        "The IV or nonce has a size that is not taken. Where the algorithm itself has "
        "no such size, the ciphertext is the one for the IV cut or zero-filled.",
    ),
    "InvalidTagSize": (
        "WRONG_LENGTH",
        "The tag is cut or extended. Its bytes are right as far as they go: a "
        "verifier that compares only those accepts it.",
    ),
    "InvalidCiphertextSize": ("WRONG_LENGTH", "The ciphertext has a length that no message gives."),
    "InvalidOutputSize": ("WRONG_LENGTH", "An output of no bytes, fewer, or more than the standard allows."),
    "InvalidIterationCount": (
        "WRONG_PRIMITIVE",
        "Fewer than 1 iterations, or more than 2^31 - 1. The output is the "
        "one for 1 iteration, which is what a silently corrected count gives.",
    ),
    "UnsupportedIvSize": (
        "FUNCTIONALITY",
        "Right by the standard, with an IV that is not 96 bits: a verifier of an "
        "interface with 96-bit IVs only skips it with the code `unsupported-iv-size`.",
    ),
    "ShortKey": (
        "WRONG_LENGTH",
        "The key to be wrapped is shorter than the standard allows, or not in " "whole semi-blocks.",
    ),
    # tampering
    "BadPadding": ("MISSING_STEP", "The plaintext does not end in PKCS #5 padding."),
    "NoPadding": ("MISSING_STEP", "The plaintext was encrypted without padding, or there is no ciphertext."),
    "ModifiedTag": ("AUTH_BYPASS", "The tag is wrong."),
    "ModifiedCiphertext": ("AUTH_BYPASS", "The ciphertext was changed; a tag, if there is one, was not."),
    "ModifiedAad": ("AUTH_BYPASS", "The associated data was changed."),
    "ModifiedIv": ("AUTH_BYPASS", "The IV was changed."),
    "ModifiedOutput": ("AUTH_BYPASS", "The expected output is wrong: a verifier must see the difference."),
    "WrongKey": ("AUTH_BYPASS", "Made under another key or password."),
    "WrongConstruction": ("WRONG_PRIMITIVE", "Made by a plausible mistake in building the algorithm."),
    "WrongIntegrityValue": ("AUTH_BYPASS", "Key wrap with an initial value other than the standard's."),
    "WrongLength": ("AUTH_BYPASS", "Key wrap whose length field does not fit the data."),
    "NonZeroPadding": ("AUTH_BYPASS", "Key wrap whose padding is not zero."),
    # text and passwords
    "EmptyPassword": ("FUNCTIONALITY", "The password is empty."),
    "EmptyKey": ("LEGACY", "The key is empty: the function is defined, an interface may refuse it."),
    "EmptySalt": ("LEGACY", "The salt is empty: the function is defined, an interface may refuse it."),
    "ShortSalt": (
        "FUNCTIONALITY",
        "A salt under 16 bytes. Policy refuses it for new data, the function takes it.",
    ),
    "LongSalt": ("FUNCTIONALITY", "A salt longer than the hash function's block."),
    "LongPassword": (
        "FUNCTIONALITY",
        "A password longer than the hash function's block, which HMAC hashes first.",
    ),
    "EmbeddedNul": ("FUNCTIONALITY", "A zero byte inside: an interface over C strings stops there."),
    "TrailingNul": (
        "KNOWN_BUG",
        "HMAC fills short keys with zeros, so a password and the same one with zero bytes "
        "at its end give the same output. That is a property of PBKDF2, not a mistake.",
    ),
    "NonUtf8": ("FUNCTIONALITY", "The password is not valid UTF-8: it must not pass through a text type."),
    "Normalisation": (
        "FUNCTIONALITY",
        "Text that Unicode normalisation would change. It is used as given: canonically "
        "equal text in other code points gives another result. Comparing such text with an equality "
        "that normalises (Swift's String) hides the difference.",
    ),
    "Unicode": ("FUNCTIONALITY", "Text outside ASCII."),
    # our own schemes
    "NoPasscode": (
        "FUNCTIONALITY",
        "The passcode is empty, which means that there is none: nothing is appended.",
    ),
    "LowerCaseUuid": ("FUNCTIONALITY", "A UUID in lower case, hashed as given."),
    "EmptyUuid": ("WRONG_LENGTH", "No UUID: there is no secret in the key."),
    "Label": ("FUNCTIONALITY", "The form with a label, as shipped in practice."),
    "Boundary": ("FUNCTIONALITY", "The same bytes, cut at another place."),
    "WrongHash": ("AUTH_BYPASS", "The passcode hash given is not the passcode's."),
    "DeviceScheme": ("FUNCTIONALITY", "The password is utf8(deviceId || randomString)."),
    # file containers
    "TornWrite": ("FUNCTIONALITY", "One of the two slots was being written: the other one counts."),
    "FileName": ("FUNCTIONALITY", "Names are bytes: empty, long, not UTF-8, not normalised."),
    "Context": ("FUNCTIONALITY", "The caller bound a context in; nothing else opens the inner layer."),
    "ModifiedHeader": ("AUTH_BYPASS", "The header was changed after it was authenticated."),
    "HeaderValue": ("MALFORMED", "An authentic header holds a value that a reader must refuse."),
    "Downgrade": ("WRONG_PRIMITIVE", "The header names another cipher than the one that was used."),
    "Truncated": ("AUTH_BYPASS", "Bytes are missing at the end."),
    "Appended": ("AUTH_BYPASS", "Bytes were put behind the end."),
    "Reordered": ("AUTH_BYPASS", "Chunks, slots or headers stand where they do not belong."),
    # recovery keys
    "ModifiedText": ("MALFORMED", "The text of the key is mistyped, incomplete or out of order."),
    "ModifiedValue": ("AUTH_BYPASS", "A derived value or what the key opens was changed."),
    # signatures
    "ModifiedSignature": ("AUTH_BYPASS", "The signature was changed."),
    "ModifiedMessage": ("AUTH_BYPASS", "The message was changed."),
    "Malleability": ("SIGNATURE_MALLEABILITY", "S is not below the order of the group."),
    "SmallOrderKey": ("AUTH_BYPASS", "A public key of small order: anybody can sign for it."),
    "SmallOrderR": ("LEGACY", "R has, or is shifted by, a point of small order: implementations differ."),
    "NonCanonical": ("MALFORMED", "A point encoded with a coordinate of 2^255 - 19 or more."),
    "InvalidEncoding": ("MALFORMED", "The public key is not the encoding of a point."),
    "InvalidNumber": ("EDGE_CASE", "r or s is not from 1 to the order less 1, or is another number."),
    "NonCanonicalDer": ("BER_ENCODING", "The signature is not in DER, although it means the same or less."),
    "InvalidKeyNumber": ("WEAK_PARAMS", "An RSA key whose modulus or exponent is too small or even."),
    "InvalidKey": ("MALFORMED", "The JSON Web Key is of a kind, size or form that must be refused."),
    "InvalidHeader": ("AUTH_BYPASS", "The token's header names no permitted algorithm, key, type or extension."),
    "InvalidToken": ("MALFORMED", "The token is not three texts in Base64 for URLs with JSON objects."),
    "InvalidVerifier": ("MALFORMED", "The code verifier has another length, or characters that are not allowed."),
    "InvalidSignatureSize": ("WRONG_LENGTH", "The signature is not 64 bytes."),
}
