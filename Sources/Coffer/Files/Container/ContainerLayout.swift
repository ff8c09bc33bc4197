import CofferBase

/// A container's layout, which maps offsets in the plaintext to offsets in the container's file. FileFormat
/// describes the layout.
package struct ContainerLayout: Equatable {
    static let headerSize: Int64 = 4096
    static let slotSize = 2048
    /// The total size in bytes of each chunk's two tags.
    static let overhead = 32
    static let chunkSizeLog2Range: ClosedRange<UInt8> = 4...22
    static let standardChunkSizeLog2: UInt8 = 16

    /// The binary logarithm of the chunk size.
    let chunkSizeLog2: UInt8
    /// The plaintext's length in bytes.
    let length: Int64

    var chunkSize: Int { 1 << Int(chunkSizeLog2) }
    var stride: Int { chunkSize + Self.overhead }

    /// The number of chunks. The last chunk is always shorter than a full chunk and may be empty.
    package var chunkCount: Int64 { (length >> Int64(chunkSizeLog2)) + 1 }
    var containerSize: Int64 { Self.headerSize + length + chunkCount * Int64(Self.overhead) }

    init(chunkSizeLog2: UInt8, length: Int64) {
        self.chunkSizeLog2 = chunkSizeLog2
        self.length = length
    }

    /// Creates the layout from a container's size on disk; throws `corrupt` if the size is impossible.
    init(chunkSizeLog2: UInt8, containerSize: Int64) throws(CofferError) {
        let stride = (Int64(1) << Int64(chunkSizeLog2)) + Int64(Self.overhead)
        let body = max(containerSize, 0) - Self.headerSize
        guard body >= 0, body % stride >= Int64(Self.overhead) else {
            throw Self.corruptError("The container was truncated or extended")
        }
        let (full, remainder) = body.quotientAndRemainder(dividingBy: stride)
        self.init(
            chunkSizeLog2: chunkSizeLog2,
            length: (full << Int64(chunkSizeLog2)) + remainder - Int64(Self.overhead))
    }

    /// Returns the error for a container that cannot be read. The only remedy is to restore or remove the
    /// file.
    static func corruptError(
        _ reason: String = "The container is damaged or belongs to another vault",
        _ code: CofferError.Code = .corrupt
    ) -> CofferError {
        CofferError(code, "\(reason).", remedy: .restoreOrRemoveFile)
    }

    /// Returns the number of plaintext bytes in chunk `index`.
    func plaintextCount(_ index: Int64) -> Int {
        Int(min(Int64(chunkSize), length - (index << Int64(chunkSizeLog2))))
    }

    /// Returns the offset of chunk `index` in the container.
    func offset(_ index: Int64) -> Int64 { Self.headerSize + index * Int64(stride) }
}
