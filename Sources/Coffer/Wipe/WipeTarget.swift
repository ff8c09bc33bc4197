import CofferBase
import CofferEngine
import FoundationEssentials
import SystemPackage

/// The traces of the vault that a home still has, for a wipe that needs nothing readable.
///
/// The ids are hints that nothing vouches for: enough to remove by name what bears them, keys in the kernel
/// keyring and view copies, and for nothing else.
struct WipeTarget {
    /// The state, when it can be read.
    let state: HomeState?
    /// Why it cannot; `nil` also where there is none.
    let damage: CofferError?
    /// The candidates for the vault's id, the state's first.
    private(set) var ids: [VaultID] = []
    /// Whether this is a Coffer home at all: by its state, or by what is in the vault's directory.
    private(set) var isVault: Bool

    private static let statePlace = Trace(name: HomeState.fileName, magic: Magic.state, offsets: [16])
    private static let places: [Trace] =
        [Trace(name: DeviceFile.name, magic: Magic.device, offsets: [16])]
        + [Keybag.record, Attempts.record, FileKeys.record, OrderBook.record].map { record in
            let first = SlotRecord.idOffset
            return Trace(
                name: record.name, magic: record.magic, offsets: [first, first + Int64(record.slotSize)])
        } + [
            Trace(name: TokenFile.fileName, magic: Magic.tokens, offsets: [16]),
            Trace(name: FileIndex.fileName, magic: Magic.fileIndex, offsets: [16]),
        ]

    /// A file that has the vault's id at some of these places.
    private struct Trace {
        let name: FilePath
        let magic: String
        let offsets: [Int64]
    }

    init(_ home: Home) {
        var state: HomeState?
        var damage: CofferError?
        do throws(CofferError) {
            state = try home.state()
        } catch {
            damage = error
        }
        (self.state, self.damage) = (state, damage)
        isVault = state != nil
        if let state {
            add(state.vaultID)
        } else if look(at: Self.statePlace, in: home.directory) {
            isVault = true
        }
        lookIntoVault(of: home)
        if ids.isEmpty, isVault { ids = KeyringRemains(home: home).noted }
    }

    private mutating func lookIntoVault(of home: Home) {
        // The mode of what may not be ours stays as it is.
        let opened =
            isVault
            ? try? home.directory.openClosed(Home.vaultName)
            : try? home.directory.open(Home.vaultName, [.read, .directory])
        guard let vault = opened else { return }
        var found = 0
        for place in Self.places {
            if (try? vault.status(of: place.name)) != nil { found += 1 }
            if look(at: place, in: vault) { isVault = true }
        }
        if found > Self.places.count / 2 { isVault = true }
    }

    /// Takes the ids in a file; returns whether it begins as that file does.
    private mutating func look(at place: Trace, in directory: borrowing Descriptor) -> Bool {
        guard let file = try? directory.open(place.name, .read),
            (try? file.status())?.kind == .regular
        else { return false }
        let isOurs = Self.bytes(8, at: 0, of: file) == Array(place.magic.utf8)
        for offset in place.offsets {
            guard let bytes = Self.bytes(16, at: offset, of: file), let id = VaultID(bytes: bytes),
                id.isRandom
            else { continue }
            add(id)
        }
        return isOurs
    }

    private static func bytes(_ count: Int, at offset: Int64, of file: borrowing Descriptor) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        guard let read = try? file.read(at: offset, into: &span), read == count else { return nil }
        return bytes
    }

    /// The id of a session that asks for the wipe.
    mutating func add(_ id: VaultID) {
        if !ids.contains(id) { ids.append(id) }
    }
}

extension VaultID {
    /// In a receipt or a tombstone: nothing told the vault's id.
    static let unknown = VaultID(uuid: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))

    /// Whether it has the form that every vault's id has: a random UUID.
    fileprivate var isRandom: Bool { bytes[6] >> 4 == 4 && bytes[8] >> 6 == 2 }
}
