import CofferBase
import CofferEngine

/// The passphrase of a key file, in the two forms that the standards use, both in guarded memory.
struct KeyFilePassphrase: ~Copyable {
    /// The maximum length of a passphrase in bytes.
    static let longest = 4096
    private let plain: GuardedBytes
    /// UTF-16 with the high byte first, and two zero bytes at its end.
    private let wide: GuardedBytes
    /// Whether the two zero bytes are left out, as some programs do with an empty passphrase.
    private var omitsEnd = false

    /// Whether the passphrase is empty.
    var isEmpty: Bool { plain.count == 0 }

    /// Returns both forms of a passphrase.
    ///
    /// - Throws: `invalidInput` if the passphrase is not UTF-8 or too long; `outOfMemory`.
    static func make(_ passphrase: borrowing SecretBytes) throws(CofferError) -> KeyFilePassphrase {
        let bytes = passphrase.guarded.span
        guard bytes.count <= Self.longest else {
            throw CofferError(
                .invalidInput, "A passphrase must be at most \(Self.longest) bytes long.")
        }
        let plain = try GuardedBytes.copying(bytes)
        var made = try GuardedBytes.zeroed(count: 2 * bytes.count + 2)
        var span = made.mutableSpan
        guard let count = Self.widen(bytes, into: &span) else {
            throw CofferError(.invalidInput, "The passphrase must be UTF-8.")
        }
        made.shrink(to: count + 2)
        return KeyFilePassphrase(plain, made)
    }

    private init(_ plain: consuming GuardedBytes, _ wide: consuming GuardedBytes) {
        self.plain = plain
        self.wide = wide
    }

    /// Leaves out the two zero bytes.
    mutating func omitEnd() { omitsEnd = true }

    /// Derives bytes as PKCS #12 does.
    func pkcs12(
        _ purpose: PKCS12Derivation.Purpose, salt: [UInt8], rounds: Int, _ digest: Digest, count: Int
    ) throws(CofferError) -> GuardedBytes {
        let used = wide.count - (omitsEnd ? 2 : 0)
        return try PKCS12Derivation.derive(
            wide.span.extracting(0..<used), salt: salt.span, rounds: rounds, digest: digest.engine, purpose,
            count: count)
    }

    /// Derives bytes as PKCS #5 does.
    func pbkdf2(
        salt: [UInt8], rounds: Int, _ digest: Digest, count: Int
    ) throws(CofferError) -> SecretBytes {
        try PBKDF2.derive(secret: plain.span, salt: salt.span, rounds: rounds, digest: digest, count: count)
    }

    /// Writes UTF-8 as UTF-16 and returns the number of bytes; `nil` if it is not UTF-8. The output has twice
    /// as many bytes as the input, and all are zero.
    private static func widen(_ bytes: Span<UInt8>, into output: inout MutableSpan<UInt8>) -> Int? {
        var (read, written) = (0, 0)
        func append(_ unit: UInt32, _ output: inout MutableSpan<UInt8>) {
            output[written] = UInt8(unit >> 8 & 0xFF)
            output[written + 1] = UInt8(unit & 0xFF)
            written += 2
        }
        while read < bytes.count {
            guard let (scalar, size) = scalar(bytes, at: read) else { return nil }
            read += size
            if scalar >= 0x1_0000 {
                append(0xD800 + (scalar - 0x1_0000) >> 10, &output)
                append(0xDC00 + (scalar - 0x1_0000) & 0x3FF, &output)
            } else {
                append(scalar, &output)
            }
        }
        return written
    }

    /// Returns the scalar that begins at a place, and its size; `nil` if there is none.
    private static func scalar(_ bytes: Span<UInt8>, at place: Int) -> (UInt32, Int)? {
        let first = UInt32(bytes[place])
        let (size, least): (Int, UInt32) =
            switch first {
            case ..<0x80: (1, 0)
            case 0xC2...0xDF: (2, 0x80)
            case 0xE0...0xEF: (3, 0x800)
            case 0xF0...0xF4: (4, 0x1_0000)
            default: (0, 0)
            }
        guard size > 0, bytes.count - place >= size else { return nil }
        guard size > 1 else { return (first, 1) }
        var scalar = first & (0x7F >> UInt32(size))
        for index in place + 1..<place + size {
            guard bytes[index] & 0xC0 == 0x80 else { return nil }
            scalar = scalar << 6 | UInt32(bytes[index] & 0x3F)
        }
        guard scalar >= least, Unicode.Scalar(scalar) != nil else { return nil }
        return (scalar, size)
    }
}
