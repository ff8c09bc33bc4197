import CSodium

extension Span<UInt8> {
    /// Returns a copy of the bytes as an array. Use this method only for bytes that are not secret, because
    /// an array is not cleared when it is released.
    package func copied() -> [UInt8] {
        unsafe withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Calls `body` with the address of the bytes, which is never null, because C libraries require an
    /// address even for a length of zero.
    func withPointer<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
        unsafe withUnsafeBufferPointer { buffer in
            if let start = buffer.baseAddress { return unsafe body(start) }
            return unsafe withUnsafePointer(to: 0) { unsafe body($0) }
        }
    }

    /// Calls `body` with the address of the bytes as C characters. Like the address in ``withPointer(_:)``,
    /// it is never null.
    func withCharacters<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
        unsafe withPointer { unsafe body(UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)) }
    }
}

extension MutableSpan<UInt8> {
    /// Overwrites the bytes that start at `offset` with `bytes`. Traps if they do not fit.
    package mutating func write(_ bytes: Span<UInt8>, at offset: Int) {
        precondition(offset >= 0 && offset <= count && bytes.count <= count - offset)
        unsafe withUnsafeMutableBytes { target in
            unsafe bytes.withUnsafeBytes { source in
                guard source.count > 0 else { return }
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + source.count])
                    .copyMemory(from: source)
            }
        }
    }

    /// Moves the bytes in `range` to `offset`. The two ranges may overlap. Traps if one is out of bounds.
    package mutating func move(_ range: Range<Int>, to offset: Int) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        precondition(offset >= 0 && offset <= count - range.count)
        unsafe withUnsafeMutableBytes { bytes in
            guard range.count > 0 else { return }
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + range.count]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    /// Overwrites every byte with zero in a way that the compiler cannot optimize away.
    package mutating func clear() {
        unsafe withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe sodium_memzero(start, bytes.count)
        }
    }

    /// Calls `body` with the address of the bytes, which is never null, because C libraries require an
    /// address even for a length of zero.
    mutating func withPointer<R>(_ body: (UnsafeMutablePointer<UInt8>) -> R) -> R {
        unsafe withUnsafeMutableBufferPointer { buffer in
            if let start = buffer.baseAddress { return unsafe body(start) }
            var none: UInt8 = 0
            return unsafe withUnsafeMutablePointer(to: &none) { unsafe body($0) }
        }
    }
}

extension [UInt8] {
    /// Overwrites every byte with zero. The caller must be the only owner of the array; otherwise only a copy
    /// is cleared.
    package mutating func clear() {
        var span = mutableSpan
        span.clear()
    }
}
