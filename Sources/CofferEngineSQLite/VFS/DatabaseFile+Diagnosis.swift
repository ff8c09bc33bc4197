import CSQLite

/// Diagnoses of files whose first page cannot be opened.
extension DatabaseFile {
    /// Records why a file that is shorter than page 1, whose bytes `page` begins with, is not a database.
    func diagnoseShort(_ page: SharedMemoryRegion) {
        guard let size = lower.size, size > 0 else { return }
        let first = page.part(0, PageCodec.maxClearLength).bytes
        entry.diagnosis = clearBeginning ?? entry.diagnose(first: first, size: size, opensAnother: false)
    }

    /// The diagnosis for a file that begins like an unencrypted database; `nil` for any other file.
    ///
    /// SQLite keeps 20 header bytes zero, and the byte after the header is the kind of the first page.
    /// With SQLCipher's plaintext header, 32 bytes by default, all these bytes are encrypted. With a longer
    /// one, only the end of the page shows the encryption.
    var clearBeginning: OpenDiagnosis? {
        let start = Scratch(count: 101)
        let result = lower.read(start.region, at: 0)
        guard result == SQLITE_OK || result == SQLITE_IOERR_SHORT_READ_CODE,
            start.region.part(0, PageCodec.plainMagic.count).equals(PageCodec.plainMagic)
        else { return nil }
        let isPlain =
            start.region.part(72, 20).isZero && [0, 2, 5, 10, 13].contains(start.region[100])
            && !endsWithTag(start.region)
        guard !isPlain else { return .plain }
        // If the key expects such a header, either the key is wrong or a page is damaged.
        return entry.plaintextHeader > 0 ? nil : .plaintextHeader
    }

    /// Reports whether page 1, which begins with `start`, reserves as many bytes as SQLCipher 4 and does not
    /// end with zeros, as SQLite leaves the bytes that it reserves, or is incomplete.
    private func endsWithTag(_ start: SharedMemoryRegion) -> Bool {
        let size = Int(start[16]) << 8 | Int(start[17]) << 16
        let reserve = CodecFormat.sqlcipher4.reserve
        guard Int(start[20]) == reserve, size > reserve else { return false }
        let end = Scratch(count: reserve)
        return lower.read(end.region, at: Int64(size - reserve)) != SQLITE_OK || !end.region.isZero
    }

    /// Reports whether page 1 is authentic with a plaintext header of another length than `codec` expects.
    /// In that case the key's settings are wrong, and the page is not damaged.
    func opensWithAnotherHeader(_ codec: PageCodec) -> Bool {
        guard codec.plaintextHeader > 0 else { return false }
        let page = Scratch(count: codec.pageSize)
        return stride(from: 16, through: 1024, by: 16).contains { length in
            length != codec.plaintextHeader && lower.read(page.region, at: 0) == SQLITE_OK
                && codec.opened(page.region, from: length, number: 1)
        }
    }
}
