public import CofferBase
import CofferEngine

/// A hash function (FIPS 180-4). SHA-1 is provided only for documented formats and test vectors.
public enum Digest: Sendable, CaseIterable {
    /// SHA-1, 20 bytes.
    case sha1
    /// SHA-224, 28 bytes.
    case sha224
    /// SHA-256, 32 bytes.
    case sha256
    /// SHA-384, 48 bytes.
    case sha384
    /// SHA-512, 64 bytes.
    case sha512

    /// The digest's size in bytes.
    public var size: Int { engine.size }

    var engine: DigestAlgorithm {
        switch self {
        case .sha1: .sha1
        case .sha224: .sha224
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }

    /// Returns the hash of `bytes`.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    public func hash(_ bytes: Span<UInt8>) throws(CofferError) -> [UInt8] {
        var context = try DigestContext.make(engine)
        try context.update(bytes)
        var result = [UInt8](repeating: 0, count: size)
        var span = result.mutableSpan
        try context.finish(into: &span)
        return result
    }
}

extension Digest {
    /// Returns the digest with `name`, the name used in test vector files, in vaults and on the command line;
    /// `nil` if the name is unknown.
    package static func named(_ name: String) -> Digest? {
        switch name {
        case "sha1": .sha1
        case "sha224": .sha224
        case "sha256": .sha256
        case "sha384": .sha384
        case "sha512": .sha512
        default: nil
        }
    }
}
