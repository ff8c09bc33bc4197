/// The nonces with which the bytes in an unnamed file were last encrypted.
struct TemporaryNonces {
    /// The random nonce of one write.
    struct Nonce: Equatable {
        static let size = 10
        private let high: UInt32
        private let middle: UInt32
        private let low: UInt16

        init(_ bytes: SharedMemoryRegion) {
            high = bytes.bigEndian32(0)
            middle = bytes.bigEndian32(4)
            low = UInt16(bytes[8]) << 8 | UInt16(bytes[9])
        }

        /// Writes the nonce to the start of `region`.
        func write(to region: SharedMemoryRegion) {
            region.setBigEndian32(high, at: 0)
            region.setBigEndian32(middle, at: 4)
            region[8] = UInt8(truncatingIfNeeded: low >> 8)
            region[9] = UInt8(truncatingIfNeeded: low)
        }
    }

    /// The part of a block that one write encrypted.
    private struct Piece {
        let range: Range<Int>
        let nonce: Nonce
    }

    /// The state of one block in the file. Most blocks are written as a whole.
    private enum Block {
        case unwritten
        case whole(Nonce)
        /// The pieces are in ascending order and do not overlap.
        case pieces([Piece])
    }

    private static let blockSize = 4096
    private var blocks: [Block] = []

    /// Records that the bytes in `range` are now encrypted with `nonce`.
    mutating func note(_ nonce: Nonce, _ range: Range<Int64>) {
        var place = range.lowerBound
        while place < range.upperBound {
            let (index, local) = Self.part(of: range, at: place)
            while blocks.count <= index { blocks.append(.unwritten) }
            if local.count == Self.blockSize {
                blocks[index] = .whole(nonce)
            } else {
                var pieces = Self.pieces(of: blocks[index], without: local)
                let next = pieces.firstIndex { $0.range.lowerBound >= local.upperBound } ?? pieces.count
                pieces.insert(Piece(range: local, nonce: nonce), at: next)
                blocks[index] = .pieces(pieces)
            }
            place += Int64(local.count)
        }
    }

    /// Returns the nonce at the start of `range`, and the end of the contiguous bytes in `range` that were
    /// encrypted with it. The nonce is `nil` for bytes that were never written.
    func run(of range: Range<Int64>) -> (nonce: Nonce?, end: Int64) {
        var (place, nonce) = (range.lowerBound, Nonce?.none)
        while place < range.upperBound {
            let (index, local) = Self.part(of: range, at: place)
            let (found, end) = state(at: local.lowerBound, of: index)
            if place > range.lowerBound, found != nonce { break }
            nonce = found
            place += Int64(min(end, local.upperBound) - local.lowerBound)
        }
        return (nonce, place)
    }

    /// Discards the records of all bytes from `size` on.
    mutating func cut(to size: Int64) {
        let (index, rest) = (Int(size / Int64(Self.blockSize)), Int(size % Int64(Self.blockSize)))
        guard index < blocks.count else { return }
        blocks.removeSubrange((rest == 0 ? index : index + 1)...)
        if rest > 0 {
            blocks[index] = .pieces(Self.pieces(of: blocks[index], without: rest..<Self.blockSize))
        }
    }

    /// Returns the index of the block at `place`, and the part of the block from there on that belongs to
    /// `range`.
    private static func part(of range: Range<Int64>, at place: Int64) -> (Int, Range<Int>) {
        let start = Int(place % Int64(blockSize))
        let count = min(Int64(blockSize - start), range.upperBound - place)
        return (Int(place / Int64(blockSize)), start..<start + Int(count))
    }

    /// Returns the nonce at a position in a block, and the position up to which it applies.
    private func state(at place: Int, of index: Int) -> (Nonce?, Int) {
        guard index < blocks.count else { return (nil, Self.blockSize) }
        switch blocks[index] {
        case .unwritten: return (nil, Self.blockSize)
        case .whole(let nonce): return (nonce, Self.blockSize)
        case .pieces(let pieces):
            guard let piece = pieces.first(where: { $0.range.upperBound > place }) else {
                return (nil, Self.blockSize)
            }
            return piece.range.contains(place)
                ? (piece.nonce, piece.range.upperBound) : (nil, piece.range.lowerBound)
        }
    }

    private static func pieces(of block: Block, without range: Range<Int>) -> [Piece] {
        switch block {
        case .unwritten: return []
        case .whole(let nonce): return rest(of: Piece(range: 0..<blockSize, nonce: nonce), without: range)
        case .pieces(let pieces): return pieces.flatMap { rest(of: $0, without: range) }
        }
    }

    private static func rest(of piece: Piece, without range: Range<Int>) -> [Piece] {
        guard piece.range.overlaps(range) else { return [piece] }
        let before = piece.range.lowerBound..<max(piece.range.lowerBound, range.lowerBound)
        let after = min(piece.range.upperBound, range.upperBound)..<piece.range.upperBound
        return [before, after].filter { !$0.isEmpty }.map { Piece(range: $0, nonce: piece.nonce) }
    }
}
