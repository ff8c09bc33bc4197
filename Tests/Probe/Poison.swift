import CofferBase
import CofferCrypto
import CofferEngine
import CValgrind

/// An error of this program.
struct ProbeFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Bytes that memcheck holds for undefined: it reports every branch and every address that depends on them.
enum Poison {
    static var isWatched: Bool { probe_is_watched() != 0 }

    /// A poisoned secret.
    static func secret(_ count: Int = 32) throws -> SecretBytes {
        var bytes = try GuardedBytes.zeroed(count: count)
        var span = bytes.mutableSpan
        for index in 0..<count { span[index] = UInt8(truncatingIfNeeded: index &* 37 &+ 11) }
        unsafe span.withUnsafeMutableBytes { unsafe probe_poison($0.baseAddress, $0.count) }
        return SecretBytes(bytes)
    }

    /// A poisoned key.
    static func key(_ count: Int = 32) throws -> SymmetricKey { SymmetricKey.adopting(try secret(count)) }

    /// Poisoned bytes in an array.
    static func array(_ count: Int = 32) -> [UInt8] {
        var bytes = [UInt8](repeating: 7, count: count)
        unsafe bytes.withUnsafeMutableBytes { unsafe probe_poison($0.baseAddress, $0.count) }
        return bytes
    }

    /// Makes an answer public: that it was yes or no is no secret.
    static func publish(_ answer: Bool) -> Bool {
        var answer = answer
        unsafe withUnsafeMutableBytes(of: &answer) { unsafe probe_publish($0.baseAddress, $0.count) }
        return answer
    }

    /// Makes bytes public, as a message is once it is sealed.
    static func publish(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        unsafe bytes.withUnsafeMutableBytes { unsafe probe_publish($0.baseAddress, $0.count) }
        return bytes
    }
}
