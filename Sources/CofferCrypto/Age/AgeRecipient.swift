public import CofferBase
import CofferEngine

/// A public key to which an age file can be encrypted, such as `age1ql3z7h…` (X25519).
///
/// age (C2SP `age.md`, version 1) is a format for encrypted files. The ``AgeIdentity`` of each of a file's
/// recipients decrypts the file, with Coffer or with any other program that reads the format. A recipient is
/// not secret.
public struct AgeRecipient: Sendable, Hashable, CustomStringConvertible {
    /// The X25519 public key.
    package let publicKey: [UInt8]
    /// The recipient's text, `age1…`.
    public let description: String

    /// Reads a recipient from its text.
    ///
    /// Only the form that age writes is accepted: lowercase letters, without spaces around them. Recipients
    /// of other types, such as `age1pq1…` and those of plugins, are not supported.
    ///
    /// - Throws: `invalidInput` if `text` is not an X25519 recipient.
    public init(_ text: String) throws(CofferError) {
        let bytes = Array(text.utf8)
        guard let key = try Bech32.recipient.decode(bytes.span) else {
            throw CofferError(
                .invalidInput,
                "The text is not an age recipient. A recipient begins with age1 and has "
                    + "\(Bech32.recipient.textSize) lowercase letters and digits. Compare the text with the "
                    + "original, because one character may be mistyped or missing.")
        }
        publicKey = key.span.copied()
        description = text
    }

    init(publicKey: [UInt8]) throws(CofferError) {
        let text = try Bech32.recipient.encode(publicKey.span)
        self.publicKey = publicKey
        description = String(decoding: text.span.copied(), as: UTF8.self)
    }

    /// Reads the recipients of a recipients file: one per line. Blank lines and lines that begin with `#` are
    /// skipped.
    ///
    /// - Throws: `invalidInput` if a line is not a recipient, or if there is none. The message has the line's
    ///   number.
    public static func list(in text: Span<UInt8>) throws(CofferError) -> [AgeRecipient] {
        try AgeLines.read(text, name: "age recipient") { (line) throws(CofferError) in
            try AgeRecipient(String(decoding: line.copied(), as: UTF8.self))
        }
    }
}
