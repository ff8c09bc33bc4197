import CofferBase
import CofferEngine
import SystemPackage

/// Whether a home is alive, being wiped or wiped: one sector, written in place, reserved when the home is made, so
/// that wiping needs no space on the disk.
///
/// Layout (512 bytes): magic (8), version (2), 6 zero, vault id (16), the word (8, ASCII, zero-padded), zeros.
struct HomeState: Equatable {
    enum Word: String { case live = "LIVE", wiping = "WIPING", wiped = "WIPED" }

    static let fileName = "state"
    static let size = 512

    let word: Word
    let vaultID: VaultID

    /// The state of `home`; `nil` when there is none.
    static func read(in home: borrowing Descriptor) throws(CofferError) -> HomeState? {
        guard try home.status(of: FilePath(fileName)) != nil else { return nil }
        let file = try home.open(FilePath(fileName), .read)
        var reader = ByteReader(try file.readAll(limit: size), what: "state record of the home")
        guard try reader.take(8) == Array(Magic.state.utf8) else { throw reader.damaged }
        guard try reader.number(UInt16.self) == 1 else {
            throw CofferError(.unsupportedVersion, "The home was made by a newer release.")
        }
        try reader.skip(6)
        guard let vaultID = VaultID(bytes: try reader.take(16)) else { throw reader.damaged }
        let text = String(decoding: try reader.take(8).prefix { $0 != 0 }, as: UTF8.self)
        guard let word = Word(rawValue: text) else { throw reader.damaged }
        return HomeState(word: word, vaultID: vaultID)
    }

    /// Makes this the state of `home`, in place, and flushes it.
    func write(in home: borrowing Descriptor) throws(CofferError) {
        var writer = ByteWriter()
        writer.append(Array(Magic.state.utf8))
        writer.append(UInt16(1))
        writer.pad(to: 16)
        writer.append(vaultID.bytes)
        writer.append(Array(word.rawValue.utf8))
        writer.pad(to: Self.size)
        let isNew = try home.status(of: FilePath(Self.fileName)) == nil
        let file = try home.open(FilePath(Self.fileName), [.readWrite, .create])
        try file.write(writer.bytes.span, at: 0)
        try file.sync()
        if isNew { try home.sync() }
    }
}
