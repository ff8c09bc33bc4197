import COpenSSL

/// A byte comparison whose duration depends only on the number of bytes.
package enum ConstantTime {
    /// Returns whether both spans contain the same bytes. The time that the comparison takes reveals the
    /// spans' lengths, but nothing about their contents.
    package static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        guard left.count > 0 else { return true }
        return unsafe left.withUnsafeBytes { a in
            unsafe right.withUnsafeBytes { b in
                unsafe CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0
            }
        }
    }
}
