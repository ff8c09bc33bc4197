import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// What the session's parts share: the home, the device key, the class keys and the clocks. Blocking,
/// synchronous.
final class SessionCore: Sendable {
    let home: Home
    let device: DeviceRecord
    let time: TimeSource
    let keys: KeyRoom
    let heldKeys: HeldKeys
    /// Where the sealed tokens are.
    let keyring: any Keyring

    init(home: Home, device: DeviceRecord, time: TimeSource) throws(CofferError) {
        let home = try home.bound(to: device.vaultID)
        self.home = home
        self.device = device
        self.time = time
        keyring = FileKeyring(home: home, device: device)
        let vault = try home.openVault()
        let keybag = try home.checkingState { () throws(CofferError) in
            try Self.readKeybag(device: device, in: vault)
        }
        let heldKeys = HeldKeys(vaultID: device.vaultID, inactivity: keybag.inactivity)
        self.heldKeys = heldKeys
        keys = KeyRoom(time: time, inactivity: keybag.inactivity.map { .seconds($0) }) { heldKeys.noteUse() }
    }

    /// Drops every key from memory, for good.
    func forget() {
        keys.dropAll(wiped: true)
        device.forget()
    }

    static func readKeybag(device: DeviceRecord, in vault: borrowing Descriptor) throws(CofferError) -> Keybag
    {
        let contents = try Keybag.record.read(
            vaultID: device.vaultID, key: device.key(Label.keybagMAC), in: vault)
        return try Keybag.decode(contents.payload)
    }

    func readKeybag() throws(CofferError) -> Keybag {
        let vault = try home.openVault()
        return try home.checkingState { () throws(CofferError) in
            try Self.readKeybag(device: device, in: vault)
        }
    }

    func readAttempts() throws(CofferError) -> Attempts {
        let vault = try home.openVault()
        return try home.checkingState { () throws(CofferError) in
            let contents = try Attempts.record.read(
                vaultID: device.vaultID, key: device.key(Label.attemptsMAC), in: vault)
            return try Attempts.decode(contents.payload)
        }
    }

    func unlock(with passcode: Passcode?) throws(CofferError) {
        let unwrapped = try evaluating(passcode) { (keys, _, _) throws(CofferError) in keys }
        keys.admit(unwrapped)
    }

    func changePasscode(to new: Passcode?, current: Passcode?) throws(CofferError) {
        let unwrapped = try evaluating(current) { (keys, keybag, vault) throws(CofferError) in
            var changed = try Keybag.decode(keybag.payload)
            if let new { try changed.policy.check(new) }
            // A passcode that was set keeps its cost; a first one gets the standard.
            let cost = changed.passcode?.cost ?? .standard
            try changed.protect(keys, with: new, cost: cost, device: device)
            try Keybag.record.update(
                keybag, to: changed.encoded, vaultID: device.vaultID, key: device.key(Label.keybagMAC),
                in: vault)
            return keys
        }
        keys.admit(unwrapped)
    }

    /// Unwraps the class keys with `passcode`, under the home's lock and the rules of ``Attempts``, and hands
    /// them on.
    private func evaluating(
        _ passcode: Passcode?,
        _ body: (
            _ keys: [ProtectionClass: ClassKey], _ keybag: SlotRecord.Contents, _ vault: borrowing Descriptor
        ) throws(CofferError) -> [ProtectionClass: ClassKey]
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        let result: [ProtectionClass: ClassKey]? = try home.changingVault { (vault) throws(CofferError) in
            let contents = try Keybag.record.read(
                vaultID: device.vaultID, key: device.key(Label.keybagMAC), in: vault, repairing: true)
            let keybag = try Keybag.decode(contents.payload)
            guard let parameters = keybag.passcode else {
                let kek = try Keybag.wrappingKey(device: device)
                let keys = try asCorrupt { () throws(CofferError) in
                    try keybag.unwrap(under: kek, vaultID: device.vaultID)
                }
                return try body(keys, contents, vault)
            }
            guard let passcode else { throw CofferError(.locked, "This vault needs its passcode.") }
            _ = try readAttempts()
            let counter = AttemptCounter(device: device, time: time, delays: keybag.delaysAttempts)
            guard let keys = try counter.attempt(passcode, parameters: parameters, keybag: keybag, in: vault)
            else {
                return nil
            }
            return try body(keys, contents, vault)
        }
        guard let result else {
            _ = try Wiper(home: home, time: time).wipe(reason: "ten wrong passcodes", forgetting: forget)
            throw CofferError.wiped
        }
        return result
    }

    /// Under the device key alone nothing is typed wrong: what does not open is damaged.
    private func asCorrupt<Result>(_ body: () throws(CofferError) -> Result) throws(CofferError) -> Result {
        do throws(CofferError) {
            return try body()
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw CofferError(.corrupt, "The keybag is damaged.")
        }
    }
}

extension Home {
    /// Files that vanish while they are read were wiped by somebody else, or are missing: which, the state
    /// tells.
    func checkingState<Result: ~Copyable>(
        _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        do throws(CofferError) {
            return try body()
        } catch {
            // What stands in a file's place and is none shows as the system's refusal to open it.
            let isNoFile = error.code == .refused && error.systemError != nil
            guard error.code == .absent || isNoFile else { throw error }
            guard let state = try state(), state.word == .live, isOwn(state) else { throw CofferError.wiped }
            throw CofferError(.corrupt, "A file of the vault is missing or no file: \(error.message)")
        }
    }
}
