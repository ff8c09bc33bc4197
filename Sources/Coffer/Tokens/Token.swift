public import CofferBase
public import CofferCrypto
import CofferEngine

/// A secret value, such as an access token or an API key. Its bytes are kept in guarded memory and are
/// cleared when the last reference is released. Printing a token shows only its length.
///
/// An empty token is valid, because a program may have a reason to store one. `coffer token put` refuses it,
/// because empty standard input is usually a mistake.
public final class Token: Sendable, CustomStringConvertible, CustomReflectable {
    /// The maximum size of a token in bytes: 1 MiB.
    public static let maxByteCount = 1 << 20

    let secret: SecretBytes

    /// Creates a token that takes ownership of secret bytes.
    ///
    /// - Throws: `invalidInput` if there are more than ``maxByteCount`` bytes.
    public init(_ secret: consuming SecretBytes) throws(CofferError) {
        guard secret.count <= Self.maxByteCount else {
            throw CofferError(.invalidInput, "A token must be at most \(Self.maxByteCount) bytes long.")
        }
        self.secret = secret
    }

    /// Creates a token from a copy of the UTF-8 bytes of `text`. The string itself cannot be cleared.
    ///
    /// - Throws: `invalidInput` if there are more than ``maxByteCount`` bytes.
    public convenience init(copying text: String) throws(CofferError) {
        try self.init(SecretBytes.copying(text))
    }

    /// Creates a token from a copy of `bytes`. The array is not cleared.
    ///
    /// - Throws: `invalidInput` if there are more than ``maxByteCount`` bytes.
    public convenience init(copying bytes: [UInt8]) throws(CofferError) {
        try self.init(SecretBytes.copying(bytes.span))
    }

    /// Reads a token from an open file descriptor, up to the end of the input and directly into guarded
    /// memory, and closes the descriptor.
    ///
    /// - Throws: `invalidInput` if there are more than ``maxByteCount`` bytes; otherwise the error that
    ///   prevents reading the descriptor.
    public static func read(fromDescriptor number: Int32) throws(CofferError) -> Token {
        let descriptor = try Descriptor.adopting(number)
        return try Token(SecretBytes(SecretInput.all(from: descriptor, limit: maxByteCount)))
    }

    /// The token's length in bytes.
    public var count: Int { secret.count }

    /// Calls `body` with the token's bytes. Copies that `body` makes are not guarded.
    public func exposing<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try secret.exposing(body)
    }

    /// Calls `body` with the token as text, for example to set an `Authorization` header. Neither the text
    /// nor any copy of it is guarded or cleared.
    ///
    /// - Parameter body: A closure that receives the text.
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

    /// Returns an array with a copy of the token's bytes. The array is neither guarded nor cleared.
    public func copyBytes() -> [UInt8] { secret.exposing { $0.copied() } }

    /// Returns a copy of the bytes in guarded memory, as asynchronous work and writers of bytes need it.
    package func guardedCopy() throws(CofferError) -> SecretBytes {
        try secret.exposing { (bytes) throws(CofferError) -> SecretBytes in try SecretBytes.copying(bytes) }
    }

    /// A description that contains the token's length but never its bytes.
    public var description: String { "Token(\(count) bytes)" }

    /// An empty mirror, which keeps reflection from revealing the bytes.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
