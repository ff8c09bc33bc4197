import CofferEngine
import CSQLite
import Glibc

/// Bytes that SQLite or a file's state owns, accessible only through checked offsets.
///
/// SQLite passes the addresses of its buffers to the VFS's callbacks, and only this type stores them. A
/// region of a buffer that SQLite passes is valid during that call, a region of a ``Scratch`` as long as the
/// object exists, and a region of the WAL index until SQLite unmaps the index.
@safe struct SharedMemoryRegion {
    let start: UnsafeMutablePointer<UInt8>
    let count: Int

    init(start: UnsafeMutablePointer<UInt8>, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    init(_ start: UnsafeMutableRawPointer, count: Int) {
        unsafe self.start = start.assumingMemoryBound(to: UInt8.self)
        self.count = count
    }

    /// Returns the address at `offset`, from which at least `size` bytes must be in the region.
    func address(_ offset: Int, _ size: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(offset >= 0 && size >= 0 && size <= count - offset)
        return unsafe start + offset
    }

    func part(_ offset: Int, _ size: Int) -> SharedMemoryRegion {
        unsafe SharedMemoryRegion(start: address(offset, size), count: size)
    }

    subscript(_ index: Int) -> UInt8 {
        get { unsafe address(index, 1).pointee }
        nonmutating set { unsafe address(index, 1).pointee = newValue }
    }

    func bigEndian32(_ offset: Int) -> UInt32 {
        unsafe UInt32(bigEndian: UnsafeRawPointer(address(offset, 4)).loadUnaligned(as: UInt32.self))
    }

    func littleEndian32(_ offset: Int) -> UInt32 {
        unsafe UInt32(littleEndian: UnsafeRawPointer(address(offset, 4)).loadUnaligned(as: UInt32.self))
    }

    /// Returns four bytes as a number in native byte order.
    func word32(_ offset: Int) -> UInt32 {
        unsafe UnsafeRawPointer(address(offset, 4)).loadUnaligned(as: UInt32.self)
    }

    /// Returns eight bytes as a number in native byte order.
    func word64(_ offset: Int) -> UInt64 {
        unsafe UnsafeRawPointer(address(offset, 8)).loadUnaligned(as: UInt64.self)
    }

    func setBigEndian32(_ value: UInt32, at offset: Int) {
        unsafe UnsafeMutableRawPointer(address(offset, 4)).storeBytes(of: value.bigEndian, as: UInt32.self)
    }

    func setLittleEndian32(_ value: UInt32, at offset: Int) {
        unsafe UnsafeMutableRawPointer(address(offset, 4)).storeBytes(of: value.littleEndian, as: UInt32.self)
    }

    /// Copies all of `source` to `offset`.
    func copy(_ source: SharedMemoryRegion, at offset: Int = 0) {
        unsafe UnsafeMutableRawPointer(address(offset, source.count)).copyMemory(
            from: source.start, byteCount: source.count)
    }

    func copy(_ source: [UInt8], at offset: Int = 0) {
        let target = unsafe UnsafeMutableRawPointer(address(offset, source.count))
        unsafe source.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            unsafe target.copyMemory(from: base, byteCount: source.count)
        }
    }

    /// Sets every byte to zero.
    func zero() {
        unsafe UnsafeMutableRawPointer(start).initializeMemory(as: UInt8.self, repeating: 0, count: count)
    }

    func equals(_ other: SharedMemoryRegion) -> Bool {
        unsafe count == other.count && memcmp(start, other.start, count) == 0
    }

    func equals(_ other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        return unsafe other.withUnsafeBytes { other in
            guard let base = other.baseAddress else { return true }
            return unsafe memcmp(start, base, count) == 0
        }
    }

    var isZero: Bool {
        let bytes = unsafe UnsafeRawPointer(start)
        var offset = 0
        while offset + 8 <= count {
            guard unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == 0 else {
                return false
            }
            offset += 8
        }
        while offset < count {
            guard self[offset] == 0 else { return false }
            offset += 1
        }
        return true
    }

    /// Returns the number of bits that are set in the bytes in `range`.
    func setBits(in range: Range<Int>) -> Int { range.reduce(0) { $0 + self[$1].nonzeroBitCount } }

    /// Returns the number of bits in which the bytes differ from `other`.
    func distance(to other: [UInt8]) -> Int {
        zip(0..<count, other).reduce(0) { $0 + (self[$1.0] ^ $1.1).nonzeroBitCount }
    }

    /// A copy of the bytes, which must not be secret.
    var bytes: [UInt8] { (0..<count).map { self[$0] } }

    /// A span for reading the bytes.
    var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = unsafe Span<UInt8>(_unsafeStart: start, count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// A span for writing the bytes. Regions may overlap, so the caller must ensure that nothing else
    /// accesses the bytes.
    var mutableSpan: MutableSpan<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = unsafe MutableSpan<UInt8>(_unsafeStart: start, count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Passes the bytes to `body` for reading. The region must be valid until `body` returns.
    func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(unsafe Span(_unsafeStart: start, count: count))
    }

    /// Passes the bytes to `body` for writing. The region must be valid until `body` returns.
    func withMutableSpan<Result>(_ body: (inout MutableSpan<UInt8>) -> Result) -> Result {
        var span = unsafe MutableSpan<UInt8>(_unsafeStart: start, count: count)
        return body(&span)
    }
}

/// Memory for a page or other bytes in a file's state, allocated once and cleared when the object is
/// released.
@safe final class Scratch {
    let region: SharedMemoryRegion

    init(count: Int) {
        region = unsafe SharedMemoryRegion(start: .allocate(capacity: count), count: count)
        region.zero()
    }

    deinit {
        region.withMutableSpan { $0.clear() }
        unsafe region.start.deallocate()
    }
}
