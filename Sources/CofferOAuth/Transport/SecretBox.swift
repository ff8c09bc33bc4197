import CofferBase
import CofferCrypto

/// Secret bytes that several copies of a request or a response share.
final class SecretBox: Sendable, CustomStringConvertible, CustomReflectable {
    let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    /// The number of bytes, without the bytes themselves.
    var description: String { "\(bytes.count) secret bytes" }

    /// An empty mirror, so that `dump` shows nothing.
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBox? {
    /// Calls `body` with the bytes, or with none if there is no box.
    func exposing<Result: ~Copyable>(
        _ body: (Span<UInt8>) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        guard let self else {
            let none: [UInt8] = []
            return try body(none.span)
        }
        return try self.bytes.exposing(body)
    }
}
