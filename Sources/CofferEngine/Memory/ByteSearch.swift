import CLinux

/// A search for a sequence of bytes in a buffer.
package enum ByteSearch {
    /// Returns the index at which `needle` first occurs in `haystack`, or `nil` if it does not occur. An
    /// empty needle never occurs.
    package static func firstIndex(of needle: Span<UInt8>, in haystack: Span<UInt8>) -> Int? {
        guard needle.count > 0, haystack.count >= needle.count else { return nil }
        return unsafe haystack.withUnsafeBytes { haystack in
            unsafe needle.withUnsafeBytes { needle in
                let found = unsafe clinux_memmem(
                    haystack.baseAddress, UInt(haystack.count), needle.baseAddress, UInt(needle.count))
                guard let found = unsafe found, let start = haystack.baseAddress else { return nil }
                return unsafe start.distance(to: UnsafeRawPointer(found))
            }
        }
    }
}
