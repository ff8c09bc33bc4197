import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage
import TestSupport

/// A vault on disk in a scratch directory, which nothing has open. Cheap to derive keys for.
final class VaultOnDisk {
    /// Removed with the vault in it.
    private let scratch: ScratchDirectory
    let device: DeviceKey
    /// The directory with the vault's files.
    let directory: Descriptor

    init(passcode: String? = nil, policy: PasscodePolicy = .none) throws {
        let scratch = try ScratchDirectory.make()
        var options = VaultOptions()
        options.cost = .floor
        options.policy = policy
        let passcode = try passcode.map { try Passcode(copying: $0) }
        let made = try VaultDirectory.create(
            at: VaultLocation(path: scratch.path.appending("home")), options: options, passcode: passcode,
            addingStores: { (_, _) in })
        let directory = try made.home.openVault()
        device = made.device
        self.directory = directory
        self.scratch = scratch
    }

    /// The bytes of a file.
    func read(_ name: FilePath) throws -> [UInt8] { try directory.open(name, .read).readAll(limit: 1 << 20) }

    /// Replaces the bytes of a file.
    func write(_ name: FilePath, _ bytes: [UInt8]) throws {
        let file = try directory.open(name, .readWrite)
        try file.truncate(to: 0)
        try file.write(bytes.span, at: 0)
    }

    /// The keybag as it is on the disk.
    func keybag() throws -> Keybag { try Keybag.record.read(device: device, in: directory).payload }
}
