import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport

/// A home in a scratch directory, cheap to open, with a look at its files.
final class TestHome: Sendable {
    let scratch: ScratchDirectory
    let location: VaultLocation

    init() throws {
        let scratch = try ScratchDirectory.make()
        location = VaultLocation(path: scratch.path.appending("home"))
        self.scratch = scratch
    }

    /// Empty directories that view copies needed under /dev/shm are the home's, too.
    deinit {
        guard let bytes = try? read("viewroot") else { return }
        try? FileManager.default.removeItem(atPath: "/dev/shm/" + String(decoding: bytes, as: UTF8.self))
    }

    /// The cheapest cost, no delays unless asked for, and no lock because the machine is busy for minutes.
    static func options(_ change: (inout VaultOptions) -> Void = { _ in }) -> VaultOptions {
        var options = VaultOptions()
        options.cost = .floor
        options.delaysAttempts = false
        options.inactivity = .seconds(24 * 3600)
        change(&options)
        return options
    }

    func create(
        _ passcode: String? = nil, options: VaultOptions = TestHome.options(), clock: VaultClock = .system
    ) async throws -> Vault {
        let passcode = try passcode.map { try Passcode(copying: $0) }
        return try await Vault.create(at: location, options: options, passcode: passcode, clock: clock)
    }

    func open(clock: VaultClock = .system) async throws -> Vault {
        try await Vault(at: location, clock: clock)
    }

    /// Opens and unlocks.
    func unlocked(_ passcode: String? = nil, clock: VaultClock = .system) async throws -> Vault {
        let session = try await open(clock: clock)
        try await session.unlock(with: passcode.map { try Passcode(copying: $0) })
        return session
    }

    // MARK: Its files

    /// The path of a file in the vault.
    func path(_ name: String) -> FilePath { location.path.appending("vault").appending(name) }

    /// The path of a file in the home.
    func homePath(_ name: String) -> FilePath { location.path.appending(name) }

    func read(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: url(path(name)))) }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: url(path(name)))
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path(name).string) }

    /// Every regular file below the home with its bytes, by path relative to the home.
    func everything() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: location.path.string) {
            let path = location.path.string + "/" + name
            let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            guard type == .typeRegular else { continue }
            files[name] = [UInt8](try Data(contentsOf: URL(filePath: path)))
        }
        return files
    }

    /// How many files below the home hold `needle`, in their bytes or their names.
    func occurrences(of needle: [UInt8]) throws -> Int {
        try everything().count { name, bytes in
            bytes.contains(needle) || Array(name.utf8).contains(needle)
        }
    }

    private func url(_ path: FilePath) -> URL { URL(filePath: path.string) }

    // MARK: The vault on disk, open or not

    /// The home, opened once more.
    func directory() throws -> VaultDirectory { try VaultDirectory.openDirectory(location) }

    /// The device key, read from its file.
    func deviceKey() throws -> DeviceKey {
        let home = try directory()
        return try DeviceKey.read(in: home.openVault(), service: home.service)
    }

    /// The keybag, read from its file.
    func keybag() throws -> Keybag {
        try Keybag.record.read(device: deviceKey(), in: directory().openVault()).payload
    }

    /// Changes the keybag as a process with the device key could.
    func changeKeybag(_ change: (inout Keybag) -> Void) throws {
        let device = try deviceKey()
        let vault = try directory().openVault()
        let stored = try Keybag.record.read(device: device, in: vault)
        var keybag = stored.payload
        change(&keybag)
        try Keybag.record.update(stored, to: keybag, device: device, in: vault)
    }

    /// Puts files where they are about to replace those of the vault, with or without the switch to them.
    func stageNext(_ files: [String: [UInt8]], isSwitched: Bool) throws {
        let next = homePath("vault.next").string
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: next, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        for (name, bytes) in files {
            let path = next + "/" + name
            let isMade = manager.createFile(
                atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
            guard isMade else { throw CocoaError(.fileWriteUnknown) }
        }
        guard isSwitched else { return }
        let home = try directory()
        let id = try deviceKey().vaultID
        try VaultStateFile(phase: .replacing, vaultID: id).write(in: home.directory)
    }

    /// The counter of attempts, read from its file.
    func attempts() throws -> AttemptRecord {
        try AttemptRecord.record.read(device: deviceKey(), in: directory().openVault()).payload
    }
}

extension [UInt8] {
    /// Whether `needle` stands in these bytes.
    func contains(_ needle: [UInt8]) -> Bool { ByteSearch.firstIndex(of: needle.span, in: span) != nil }
}
