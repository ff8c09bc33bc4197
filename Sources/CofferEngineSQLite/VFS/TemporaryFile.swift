import CSQLite

/// An unnamed file for a sorter, a statement journal or a temporary database.
final class TemporaryFile: EncryptedFile {
    private let cipher: TemporaryCipher
    private var nonces = TemporaryNonces()
    private let scratch = Scratch(count: 8192)

    init?(encrypting lower: UnderlyingFile) {
        guard let cipher = TemporaryCipher() else { return nil }
        self.cipher = cipher
        super.init(lower: lower)
    }

    override func read(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard offset >= 0 else { return SQLITE_IOERR }
        let result = lower.read(region, at: offset)
        var count = region.count
        if result == SQLITE_IOERR_SHORT_READ_CODE {
            var size: Int64 = 0
            let sized = unsafe lower.fileSize(&size)
            guard sized == SQLITE_OK else { return sized }
            count = Int(max(0, min(Int64(count), size - offset)))
        } else if result != SQLITE_OK {
            return result
        }
        var place = offset
        while place < offset + Int64(count) {
            let run = nonces.run(of: place..<offset + Int64(count))
            let part = region.part(Int(place - offset), Int(run.end - place))
            if let nonce = run.nonce {
                guard cipher.run(part, at: place, nonce: nonce, into: part) else { return SQLITE_IOERR }
            } else {
                part.zero()
            }
            place = run.end
        }
        region.part(count, region.count - count).zero()
        return result
    }

    override func write(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard offset >= 0, let nonce = cipher.nonce() else { return SQLITE_IOERR }
        var done = 0
        while done < region.count {
            let piece = region.part(done, min(region.count - done, scratch.region.count))
            let output = scratch.region.part(0, piece.count)
            let place = offset + Int64(done)
            guard cipher.run(piece, at: place, nonce: nonce, into: output) else { return SQLITE_IOERR }
            let result = lower.write(output, at: place)
            guard result == SQLITE_OK else { return result }
            nonces.note(nonce, place..<place + Int64(piece.count))
            done += piece.count
        }
        return SQLITE_OK
    }

    override func truncate(to size: Int64) -> Int32 {
        let result = lower.truncate(to: size)
        if result == SQLITE_OK { nonces.cut(to: max(0, size)) }
        return result
    }
}
