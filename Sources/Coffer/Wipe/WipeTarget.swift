import CofferBase
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// The traces that a vault leaves in its directory, for a wipe that needs no readable file.
///
/// The ids are unauthenticated hints. Use them only to remove items by name: keys in the kernel keyring and
/// view copies.
struct WipeTarget {
    /// The state, if it can be read.
    let state: VaultStateFile?
    /// The error that prevents reading the state; `nil` if the state can be read or does not exist.
    let damage: CofferError?
    /// The candidates for the vault's id, starting with the one in the state.
    private(set) var ids: [VaultID] = []
    /// The members of ``ids`` that come from files with the right magic in the vault's directory.
    private(set) var named: [VaultID] = []
    /// Whether the directory contains a vault: a file in it begins with one of Coffer's magics. A file name
    /// alone is not evidence.
    private(set) var isVault: Bool

    private static let stateTrace = Trace(name: VaultStateFile.fileName, magic: FileMagic.state, idOffset: 16)
    private static let traces = [
        Trace(name: DeviceKeyFile.name, magic: FileMagic.device, idOffset: 16),
        trace(of: Keybag.record), trace(of: AttemptRecord.record), trace(of: FileKeyset.record),
        trace(of: LastBackupRecord.record), trace(of: RemoteCommandRecord.record),
        trace(of: AnchorRecord.record), trace(of: PolicyRecord.record),
        Trace(
            name: RecoveryRecord.name, magic: FileMagic.recovery, idOffset: RecoveryRecord.idOffset,
            starts: [0, Int64(RecoveryRecord.slotSize)]),
        Trace(name: TokenFile.fileName, magic: FileMagic.tokens, idOffset: 16),
        Trace(name: KeyPairFile.fileName, magic: FileMagic.keyPairs, idOffset: 16),
        Trace(name: FileIndex.fileName, magic: FileMagic.fileIndex, idOffset: 16),
    ]
    /// The maximum number of containers to inspect.
    private static let maxContainerCount = 64

    /// A file that has its magic at one of several offsets, and the vault's id at a fixed offset from the
    /// magic.
    private struct Trace {
        let name: FilePath
        let magic: String
        let idOffset: Int64
        var starts: [Int64] = [0]
    }

    private static func trace<Payload>(of record: AuthenticatedRecord<Payload>) -> Trace {
        Trace(
            name: record.name, magic: record.magic, idOffset: record.idOffset,
            starts: [0, Int64(record.slotSize)])
    }

    /// Inspects a vault directory.
    ///
    /// - Parameters:
    ///   - home: The vault directory.
    ///   - changingModes: Whether to open the vault's directory even if its mode denies access to its owner.
    init(_ home: VaultDirectory, changingModes: Bool = true) {
        var state: VaultStateFile?
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
        } else if inspect(Self.stateTrace, in: home.directory) {
            isVault = true
        }
        inspectVault(of: home, changingModes: changingModes)
        if ids.isEmpty, isVault { ids = OrphanedSecretItems(home: home).noted }
    }

    private mutating func inspectVault(of home: VaultDirectory, changingModes: Bool) {
        // If the directory may not be a vault, its mode stays unchanged.
        let opened =
            isVault && changingModes
            ? try? home.directory.openClosed(VaultDirectory.vaultName)
            : try? home.directory.open(VaultDirectory.vaultName, [.read, .directory])
        guard let vault = opened else { return }
        for trace in Self.traces where inspect(trace, in: vault, isVouching: true) { isVault = true }
        if !isVault { isVault = Self.hasContainer(vault) }
    }

    private static func hasContainer(_ vault: borrowing Descriptor) -> Bool {
        guard let files = try? vault.open(VaultDirectory.filesName, [.read, .directory]),
            let names = try? files.names()
        else { return false }
        return names.prefix(maxContainerCount).contains { name in
            guard let file = opened(name, in: files) else { return false }
            return bytes(8, at: 0, of: file) == Array(FileMagic.container.utf8)
        }
    }

    private static func opened(_ name: FilePath, in directory: borrowing Descriptor) -> Descriptor? {
        guard let file = try? directory.open(name, .read), (try? file.status())?.kind == .regular else {
            return nil
        }
        return file
    }

    /// Returns the error for a directory that is not a vault.
    func refusal(at path: FilePath) -> CofferError {
        CofferError(
            damage?.code ?? .notInitialised,
            "Nothing was erased because \(path) does not contain a recognizable vault."
                + (damage.map { " \($0.message)" } ?? ""),
            remedy: .removeDirectory, systemError: damage?.systemError)
    }

    /// Adds the ids in a file; returns whether the file has the right magic.
    private mutating func inspect(
        _ trace: Trace, in directory: borrowing Descriptor, isVouching: Bool = false
    ) -> Bool {
        guard let file = Self.opened(trace.name, in: directory) else { return false }
        var isFound = false
        for start in trace.starts {
            let hasMagic = Self.bytes(8, at: start, of: file) == Array(trace.magic.utf8)
            isFound = isFound || hasMagic
            guard let bytes = Self.bytes(16, at: start + trace.idOffset, of: file),
                let id = VaultID(bytes: bytes), id.isRandom
            else { continue }
            add(id)
            if hasMagic, isVouching, !named.contains(id) { named.append(id) }
        }
        return isFound
    }

    private static func bytes(_ count: Int, at offset: Int64, of file: borrowing Descriptor) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        guard let read = try? file.read(at: offset, into: &span), read == count else { return nil }
        return bytes
    }

    /// Adds an id to ``ids``, unless it is already there.
    mutating func add(_ id: VaultID) {
        if !ids.contains(id) { ids.append(id) }
    }
}

extension VaultID {
    /// The id that receipts and tombstones contain if the vault's id is unknown.
    static let unknown = VaultID(uuid: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))

    /// Whether the id is a random UUID, as every vault's id is.
    fileprivate var isRandom: Bool { bytes[6] >> 4 == 4 && bytes[8] >> 6 == 2 }
}
