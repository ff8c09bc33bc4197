package import CofferBase
import CSodium

/// Random bytes from the kernel's generator, through libsodium.
package enum SecureRandom {
    /// Fills `span` with random bytes.
    package static func fill(_ span: inout MutableSpan<UInt8>) throws(CofferError) {
        try SodiumLibrary.start()
        unsafe span.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe randombytes_buf(start, bytes.count)
        }
    }

    /// Returns `count` random bytes for values that are not secret, such as nonces, salts and identifiers.
    package static func bytes(_ count: Int) throws(CofferError) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        var span = result.mutableSpan
        try fill(&span)
        return result
    }
}
