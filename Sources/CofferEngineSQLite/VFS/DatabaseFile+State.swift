import CSQLite

/// The state of a database's file, apart from the content of its pages.
extension DatabaseFile {
    /// Whether the file contains nothing but zeros; `nil` when it cannot be read.
    var isBlank: Bool? {
        guard let size = lower.size else { return nil }
        let part = Scratch(count: codec.pageSize)
        for offset in stride(from: 0, to: size, by: codec.pageSize) {
            // Reads behind the end return zeros.
            let result = lower.read(part.region, at: offset)
            guard [SQLITE_OK, SQLITE_IOERR_SHORT_READ_CODE].contains(result) else { return nil }
            guard part.region.isZero else { return false }
        }
        return true
    }

    /// The number of whole pages; `nil` when it cannot be determined.
    var pageCount: Int64? { lower.size.map { $0 / Int64(codec.pageSize) } }

    /// Whether the file that this connection has open is no longer the one of its name.
    var hasMoved: Bool {
        var moved: Int32 = 0
        let result = unsafe withUnsafeMutablePointer(to: &moved) {
            unsafe lower.control(SQLITE_FCNTL_HAS_MOVED, $0)
        }
        return result == SQLITE_OK && moved != 0
    }

    /// Returns the kind of a file that begins like a plain database; `nil` for any other file.
    ///
    /// SQLite keeps 20 bytes of the header zero, and the byte after the header is the kind of the first page.
    /// With SQLCipher's plaintext header, 32 bytes by default, all these bytes are encrypted.
    var clearBeginning: OpenDiagnosis? {
        let start = Scratch(count: 101)
        let result = lower.read(start.region, at: 0)
        guard result == SQLITE_OK || result == SQLITE_IOERR_SHORT_READ_CODE,
            start.region.part(0, PageCodec.plainMagic.count).equals(PageCodec.plainMagic)
        else { return nil }
        let isPlain = start.region.part(72, 20).isZero && [0, 2, 5, 10, 13].contains(start.region[100])
        guard !isPlain else { return .plain }
        // If the key expects such a header, either the key is wrong or a page is damaged.
        return entry.plaintextHeader > 0 ? nil : .plaintextHeader
    }

    /// Answers the pragma that proves the encryption: returns the format, unless the file is a plain
    /// database. A file without pages is not a plain database.
    func proof(_ words: PragmaNames) -> Int32 {
        let isShort = lower.size.map { $0 < PageCodec.plainMagic.count } ?? false
        let isTold = isShort || Self.clearBytes(lower) != nil
        guard isTold, entry.plaintextHeader > 0 || clearBeginning == nil else {
            entry.diagnosis = clearBeginning
            return words.answer("plain")
        }
        return words.answer(entry.format.rawValue)
    }

    /// Reports whether one of the pages 2 to 4 opens under the key.
    func isNewPage(_ codec: PageCodec) -> Bool {
        let other = Scratch(count: codec.pageSize)
        return (2...4).contains { number in
            lower.read(other.region, at: Int64(number - 1) * Int64(codec.pageSize)) == SQLITE_OK
                && codec.open(other.region, number: UInt32(number))
        }
    }
}
