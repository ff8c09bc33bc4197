import CofferBase

/// The header of an entry in a tar archive (POSIX.1-2017, `pax`, "ustar Interchange Format").
///
/// There is exactly one header for a name, a size and a time: a plain file of mode 0600 without an owner. A
/// header that differs from it in any byte is refused, so an archive has no links, devices, directories,
/// sparse files, other owners or hidden data.
struct TarHeader: Equatable {
    static let blockSize = 512
    /// The largest size that fits into 11 octal digits. A larger file has a pax header before its own.
    static let maxPlainSize: Int64 = 1 << 33 - 1
    private static let maxTime: Int64 = 1 << 33 - 1
    private static let maxPathLength = 100

    /// The kind of data that a header precedes.
    enum Kind: UInt8 {
        /// A plain file.
        case file = 0x30
        /// The pax records of the next file.
        case pax = 0x78
    }

    let kind: Kind
    let path: String
    /// The size in the header: 0 if the pax header before it has the file's size.
    let size: Int64
    /// The time of the last change in seconds since 1970.
    let modified: Int64

    /// Creates a header. Times that the format cannot hold become the nearest ones that it can.
    init(_ path: String, kind: Kind = .file, size: Int64, modified: Int64) {
        self.kind = kind
        self.path = path
        self.size = size
        self.modified = min(max(0, modified), Self.maxTime)
    }

    /// The header's block.
    var encoded: [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
            for (index, byte) in bytes.enumerated() { block[offset + index] = byte }
        }
        put(path.utf8.prefix(Self.maxPathLength), at: 0)
        put(Self.octal(0o600, digits: 7), at: 100)
        put(Self.octal(0, digits: 7), at: 108)
        put(Self.octal(0, digits: 7), at: 116)
        put(Self.octal(size, digits: 11), at: 124)
        put(Self.octal(modified, digits: 11), at: 136)
        block[156] = kind.rawValue
        put(Array("ustar".utf8), at: 257)
        put(Array("00".utf8), at: 263)
        put(Self.octal(0, digits: 7), at: 329)
        put(Self.octal(0, digits: 7), at: 337)
        // The checksum counts its own field as spaces.
        let sum = block.reduce(8 * 0x20) { $0 + Int64($1) }
        put(Self.octal(sum, digits: 6), at: 148)
        block[155] = 0x20
        return block
    }

    /// Parses a block.
    ///
    /// - Throws: `corrupt` unless the block is exactly the header of a plain file or of pax records.
    init(_ block: [UInt8]) throws(CofferError) {
        guard block.count == Self.blockSize, let kind = Kind(rawValue: block[156]),
            let size = Self.number(block[124..<135]), let modified = Self.number(block[136..<147])
        else { throw Self.damaged }
        let name = block[..<Self.maxPathLength].prefix { $0 != 0 }
        guard name.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw Self.damaged }
        self.init(
            String(decoding: name, as: UTF8.self), kind: kind, size: size, modified: modified)
        guard encoded == block else { throw Self.damaged }
    }

    /// The pax record that has a file's size.
    static func sizeRecord(_ size: Int64) -> [UInt8] {
        let rest = " size=\(size)\n"
        // The length counts its own digits.
        var length = rest.utf8.count + 2
        if "\(length)".utf8.count + rest.utf8.count != length { length += 1 }
        return Array("\(length)\(rest)".utf8)
    }

    /// Returns the size in a pax record.
    ///
    /// - Throws: `corrupt` unless the bytes are exactly the one record that this release writes.
    static func size(inRecord record: [UInt8]) throws(CofferError) -> Int64 {
        let text = String(decoding: record, as: UTF8.self)
        guard let number = text.parts(between: "=").last?.utf8.dropLast(),
            let size = Int64(String(decoding: number, as: UTF8.self)), size > maxPlainSize,
            record == sizeRecord(size)
        else { throw damaged }
        return size
    }

    /// The number of zero bytes after `size` bytes of content.
    static func padding(after size: Int64) -> Int { Int((512 - size % 512) % 512) }

    /// Returns the digits and the NUL after them.
    private static func octal(_ number: Int64, digits: Int) -> [UInt8] {
        let text = Array(String(number, radix: 8).utf8)
        return [UInt8](repeating: 0x30, count: max(0, digits - text.count)) + text + [0]
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        var value: Int64 = 0
        for digit in digits {
            guard (0x30...0x37).contains(digit) else { return nil }
            value = value << 3 | Int64(digit - 0x30)
        }
        return value
    }

    static var damaged: CofferError {
        CofferError(
            .corrupt, "The backup contains something other than the files that Coffer writes.",
            remedy: .useAnotherCopy)
    }
}
