public import CofferBase
public import CofferCrypto
import CofferEngine

/// A token, whose bytes are in guarded memory and are cleared when the last reference is released. Printing a
/// token shows only its length.
///
/// An empty token is valid, because a program may have a reason to store one. `coffer token put` refuses it,
/// because empty standard input is usually a mistake.
public final class Token: Sendable, CustomStringConvertible, CustomReflectable {
    /// The maximum size of a token in bytes: 1 MiB.
    public static let maxByteCount = 1 << 20

    let secret: SecretBytes

    /// Creates a token that takes ownership of secret bytes.
    ///
    /// - Throws: `invalidInput` for more than ``maxByteCount`` bytes.
    public init(_ secret: consuming SecretBytes) throws(CofferError) {
        guard secret.count <= Self.maxByteCount else {
            throw CofferError(.invalidInput, "A token must be at most \(Self.maxByteCount) bytes long.")
        }
        self.secret = secret
    }

    /// Creates a token from a copy of the UTF-8 bytes of `text`. The string itself cannot be cleared.
    ///
    /// - Throws: `invalidInput` for more than ``maxByteCount`` bytes.
    public convenience init(copying text: String) throws(CofferError) {
        try self.init(SecretBytes.copying(text))
    }

    /// Creates a token from a copy of `bytes`. The array is not cleared.
    ///
    /// - Throws: `invalidInput` for more than ``maxByteCount`` bytes.
    public convenience init(copying bytes: [UInt8]) throws(CofferError) {
        try self.init(SecretBytes.copying(bytes.span))
    }

    /// Reads everything from an open file descriptor directly into guarded memory, and closes the descriptor.
    ///
    /// - Throws: `invalidInput` for more than ``maxByteCount`` bytes.
    public static func read(fromDescriptor number: Int32) throws(CofferError) -> Token {
        let descriptor = try Descriptor.adopting(number)
        return try Token(SecretBytes(SecretInput.all(from: descriptor, limit: maxByteCount)))
    }

    /// The number of bytes.
    public var count: Int { secret.count }

    /// Calls `body` with the bytes. Copies that `body` makes are not guarded.
    public func exposing<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try secret.exposing(body)
    }

    /// Calls `body` with the token as text, for use in an `Authorization` header, for example. The text and
    /// copies of it are neither guarded nor cleared.
    ///
    /// - Parameter body: Receives the text.
    /// - Returns: The value that `body` returns; `nil` if the bytes are not UTF-8, in which case `body` is
    ///   not called.
    /// - Throws: The error that `body` throws.
    public func exposingString<Result, Failure: Error>(
        _ body: (String) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let text: String? = secret.exposing { bytes in
            guard let text = try? UTF8Span(validating: bytes) else { return nil }
            return String(copying: text)
        }
        guard let text else { return nil }
        return try body(text)
    }

    /// Returns a copy of the bytes in an array, which is neither guarded nor cleared.
    public func copyBytes() -> [UInt8] { secret.exposing { $0.copied() } }

    /// A description that contains the length, never the bytes.
    public var description: String { "Token(\(count) bytes)" }

    /// An empty mirror, so that reflection does not reveal the bytes.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
