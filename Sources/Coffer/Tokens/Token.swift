public import CofferBase
public import CofferCrypto
import CofferEngine

/// A token's bytes in guarded memory, cleared with the last owner. Printing one shows its length alone.
///
/// None at all is a value, too: a program may have a reason to keep an empty one. `coffer token put` refuses
/// it, as standard input that is empty is mostly a mistake.
public final class Token: Sendable, CustomStringConvertible, CustomReflectable {
    /// The longest token in bytes: 1 MiB.
    public static let maxByteCount = 1 << 20

    let secret: SecretBytes

    /// Takes over secret bytes.
    ///
    /// - Throws: `invalidInput` for more than ``longest`` bytes.
    public init(_ secret: consuming SecretBytes) throws(CofferError) {
        guard secret.count <= Self.maxByteCount else {
            throw CofferError(.invalidInput, "A token has at most \(Self.maxByteCount) bytes.")
        }
        self.secret = secret
    }

    /// Copies the UTF-8 of `text`; the string itself cannot be cleared.
    ///
    /// - Throws: `invalidInput` for more than ``longest`` bytes.
    public convenience init(copying text: String) throws(CofferError) {
        try self.init(SecretBytes.copying(text))
    }

    /// Copies `bytes`; the array is left as it is.
    ///
    /// - Throws: `invalidInput` for more than ``longest`` bytes.
    public convenience init(copying bytes: [UInt8]) throws(CofferError) {
        try self.init(SecretBytes.copying(bytes.span))
    }

    /// Reads everything up to the end of an open descriptor straight into guarded memory, and closes it.
    ///
    /// - Throws: `invalidInput` for more than ``longest`` bytes.
    public static func read(fromDescriptor number: Int32) throws(CofferError) -> Token {
        let descriptor = try Descriptor.adopting(number)
        return try Token(SecretBytes(SecretInput.all(from: descriptor, limit: maxByteCount)))
    }

    /// The number of bytes.
    public var count: Int { secret.count }

    /// Gives `body` the bytes to read. What it copies is no longer guarded.
    public func exposing<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try secret.exposing(body)
    }

    /// The length, never the bytes.
    public var description: String { "Token(\(count) bytes)" }

    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
