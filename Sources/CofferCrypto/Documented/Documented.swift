/// The documented key schemes, byte for byte.
///
/// These schemes exist because apps and data depend on them, not because they are strong. A passcode of 4 to
/// 8 digits has at most 1.1 × 10^8 values, and the documented key costs one SHA-256 per guess, so its
/// strength is the secrecy of the UUID. Protect new data with ``Argon2id`` and ``AEAD``.
public enum Documented {}
