/// The documented key schemes, byte for byte.
///
/// They are here because apps and data depend on them, not because they are strong: a passcode of 4 to 8
/// digits has at most 1.1 × 10^8 values and the documented key costs one SHA-256 for each guess, so its
/// strength is the secrecy of the UUID. New data belongs under ``Argon2id`` and ``AEAD``.
public enum Documented {}
