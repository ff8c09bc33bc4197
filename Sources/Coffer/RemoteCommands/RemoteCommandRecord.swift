import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// A vault's command record: the pinned keys, the counters that the vault has seen, the pending commands, and
/// the dead-man's switch. The record has two slots that are updated in place and authenticated under the
/// device key.
///
/// The first change, usually pinning a key, creates the record. Counters belong to the vault, not to a key,
/// so removing a key and pinning it again does not make an old command valid.
///
/// Payload: counter of the last command (8), counter of the last heartbeat (8), newest issue time seen (8,
/// seconds), switch action (1: 0 off, 1 lock, 2 wipe), 7 zero bytes, switch limit (8, seconds), running time
/// since the last heartbeat (8, nanoseconds), time since boot at the last check (8, nanoseconds), length (4)
/// and boot identifier, and number of keys (2); for each key: key (32), pinning time (8, seconds), length (4)
/// and label; then length (4) and the command that an earlier release was carrying out, or nothing.
///
/// The following fields are absent in earlier releases: whether there is a wall time (1), the latest wall
/// time of any check (8, nanoseconds since 1970), and number of other boots (1); for each boot: running time
/// since the last heartbeat (8) and time since boot (8) at its last check, length (4) and boot identifier;
/// then number of pending commands (1), and each ``PendingCommand``.
struct RemoteCommandRecord: Equatable, RecordPayload {
    static let record = AuthenticatedRecord<RemoteCommandRecord>(
        name: "orders", magic: FileMagic.orderBook, keyLabel: KDFLabel.ordersMAC, slotSize: 4096,
        displayName: "record of signed commands")
    static let maxKeyCount = 16
    static let maxLabelLength = 64
    /// The maximum size of all pending commands in a slot, in bytes: enough for two commands with the longest
    /// names and reasons, or for about a dozen short ones.
    private static let maxPendingByteCount = 1536
    private static let maxPendingCount = 64
    /// The errors that show that the record is permanently unreadable.
    static let lastingDamage: Set<CofferError.Code> = [
        .corrupt, .foreign, .unsupportedVersion, .refused, .permissionDenied,
    ]

    var lastCommand: UInt64 = 0
    var lastHeartbeat: UInt64 = 0
    /// The newest issue time of an accepted command, in seconds since 1970. Verification never assumes an
    /// earlier time.
    var newestIssue: UInt64 = 0
    var keys: [PinnedKey] = []
    /// The accepted commands to erase that have not been carried out yet, oldest first.
    var pending: [PendingCommand] = []
    /// The dead-man's switch; `nil` if it is off.
    var deadManSwitch: DeadManSwitch?
    var heartbeat: HeartbeatClock

    init(_ clock: VaultClock) { heartbeat = HeartbeatClock(clock) }

    // MARK: Keys

    /// Throws `invalidInput` if a label for a key is too long or has control characters.
    static func checkLabel(_ label: String) throws(CofferError) {
        guard label.utf8.count <= maxLabelLength, CommandEncoding.isReason(label) else {
            throw CofferError(
                .invalidInput,
                "A label must be at most 64 bytes long and must not contain control characters.")
        }
    }

    mutating func pin(_ key: AdministratorKey, label: String, at now: UInt64) throws(CofferError) {
        guard !keys.contains(where: { $0.key == key }) else {
            throw CofferError(.alreadyExists, "This key is already pinned.")
        }
        guard keys.count < Self.maxKeyCount else {
            throw CofferError(
                .refused,
                "\(Self.maxKeyCount) keys are already pinned, which is the limit. Remove a key first.")
        }
        keys.append(PinnedKey(key: key, pinned: Date(timeIntervalSince1970: Double(now)), label: label))
    }

    mutating func unpin(_ key: AdministratorKey) throws(CofferError) {
        guard let index = keys.firstIndex(where: { $0.key == key }) else {
            throw CofferError(.absent, "This key is not pinned.")
        }
        keys.remove(at: index)
    }

    // MARK: Commands

    /// Returns the rules for a signed policy, whose last time of issue the caller knows.
    func policyRules(
        vaultID: VaultID, now: UInt64, newestIssue issued: UInt64
    ) throws(CofferError) -> SignedDocumentRules {
        SignedDocumentRules(
            keys: keys.map(\.key), vaultID: vaultID.uuid, deviceID: try DeviceID.current(),
            now: max(now, newestIssue, issued))
    }

    func rules(vaultID: VaultID, now: UInt64) throws(CofferError) -> CommandVerifier {
        CommandVerifier(
            keys: keys.map(\.key), vaultID: vaultID.uuid, deviceID: try DeviceID.current(),
            lastCommand: lastCommand, lastHeartbeat: lastHeartbeat, now: max(now, newestIssue))
    }

    /// Throws `busy` if the vault cannot accept more commands now. This is not a refusal, so the command can
    /// be tried again. A heartbeat is always accepted. While a command to erase everything is pending, the
    /// vault accepts no other command.
    func requireRoom(for action: RemoteCommand.Action, _ order: PendingCommand?) throws(CofferError) {
        guard action == .heartbeat || !pending.contains(where: { $0.scope == .all }) else {
            throw CofferError(.busy, "A command to erase the vault is not finished. Open the vault again.")
        }
        guard let order else { return }
        var writer = BinaryWriter()
        for order in pending + [order] { order.encode(to: &writer) }
        // A command to erase everything replaces all pending commands.
        guard order.scope == .all || writer.bytes.count <= Self.maxPendingByteCount else {
            throw CofferError(
                .busy,
                "The command could not be recorded because earlier commands are not finished. Try again "
                    + "later.")
        }
    }

    /// Records that a command was accepted. A command to erase becomes pending; any other command takes
    /// effect immediately.
    mutating func accept(
        _ order: VerifiedCommand, _ waiting: PendingCommand?, clock: VaultClock
    ) throws(CommandRefusal) {
        let content = order.content
        let issued = CommandEncoding.seconds(content.issued) ?? 0
        switch content.action {
        case .wipe(let scope):
            if scope == .all { pending = [] }
            pending += [waiting].compactMap(\.self)
        case .heartbeat: heartbeat.restart(clock)
        case .pin, .unpin:
            do throws(CofferError) {
                try change(content.action, at: issued)
            } catch {
                throw CommandRefusal(error)
            }
        }
        newestIssue = max(newestIssue, issued)
        if content.action == .heartbeat {
            lastHeartbeat = content.counter
        } else {
            lastCommand = content.counter
        }
    }

    private mutating func change(_ action: RemoteCommand.Action, at issued: UInt64) throws(CofferError) {
        switch action {
        case .pin(let key): try pin(key, label: "", at: issued)
        case .unpin(let key):
            guard keys.count > 1 || keys.first?.key != key else {
                throw CofferError(.refused, "A command cannot remove the last pinned key.")
            }
            try unpin(key)
        case .wipe, .heartbeat: break
        }
    }

    /// Returns the pending command with this digest; `nil` if there is none.
    func pending(_ digest: String) -> PendingCommand? { pending.first { $0.isOf(digest) } }

    /// Removes the pending commands to erase tokens from a vault's record after its tokens were erased. The
    /// caller must hold the vault directory's lock. A damaged record stays unchanged.
    static func markTokenCommandsCompleted(
        of device: DeviceKey, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard try vault.status(of: record.name) != nil else { return }
        let stored: AuthenticatedRecord<RemoteCommandRecord>.Contents
        do throws(CofferError) {
            stored = try record.read(device: device, in: vault, repairing: true)
        } catch {
            guard lastingDamage.contains(error.code) else { throw error }
            return
        }
        var payload = stored.payload
        guard payload.pending.contains(where: { $0.scope == .tokens }) else { return }
        payload.pending.removeAll { $0.scope == .tokens }
        try record.update(stored, to: payload, device: device, in: vault)
    }

    /// Returns whether the dead-man's switch is on and its time limit without a heartbeat has passed.
    func isOverdue(_ clock: VaultClock) -> Bool {
        guard let deadManSwitch else { return false }
        return heartbeat.passed(clock) >= deadManSwitch.limit
    }

    // MARK: In the record

    func encode(to writer: inout BinaryWriter) {
        writer.append(lastCommand)
        writer.append(lastHeartbeat)
        writer.append(newestIssue)
        let action: UInt8 =
            switch deadManSwitch?.action {
            case nil: 0
            case .lock: 1
            case .wipe: 2
            }
        writer.append([action, 0, 0, 0, 0, 0, 0, 0])
        writer.append(UInt64(clamping: deadManSwitch?.limit.components.seconds ?? 0))
        heartbeat.encode(to: &writer)
        writer.append(UInt16(clamping: keys.count))
        for key in keys {
            writer.append(key.key.bytes)
            writer.append(CommandEncoding.seconds(key.pinned) ?? 0)
            writer.appendText(key.label)
        }
        writer.appendLengthPrefixed([])
        heartbeat.encodeRest(to: &writer)
        writer.append([UInt8(clamping: pending.count)])
        for order in pending { order.encode(to: &writer) }
    }

    init(from reader: inout BinaryReader) throws(CofferError) {
        lastCommand = try reader.number()
        lastHeartbeat = try reader.number()
        newestIssue = try reader.number()
        let action = try reader.take(8)[0]
        let limit = Duration.seconds(Int64(clamping: try reader.number(UInt64.self)))
        if action != 0 {
            let actions: [UInt8: DeadManSwitch.Action] = [1: .lock, 2: .wipe]
            guard let action = actions[action], let policy = try? DeadManSwitch(action, after: limit) else {
                throw reader.corruptError
            }
            deadManSwitch = policy
        }
        heartbeat = try HeartbeatClock(from: &reader)
        let count = Int(try reader.number(UInt16.self))
        guard count <= Self.maxKeyCount else { throw reader.corruptError }
        for _ in 0..<count {
            let key = try AdministratorKey(try reader.take(Ed25519.keySize))
            let pinned = Date(timeIntervalSince1970: Double(try reader.number(UInt64.self)))
            guard CommandEncoding.seconds(pinned) != nil else { throw reader.corruptError }
            keys.append(PinnedKey(key: key, pinned: pinned, label: try reader.text()))
        }
        try decodePending(from: &reader)
    }

    /// Decodes the last fields. A record from an earlier release contains one whole command here, and nothing
    /// after it.
    private mutating func decodePending(from reader: inout BinaryReader) throws(CofferError) {
        let order = try reader.lengthPrefixed(limit: SignedCommand.maxByteCount)
        if !order.isEmpty {
            let read = try? SignedCommand.read(order)
            guard let read, case .wipe(let scope) = read.content.action else { throw reader.corruptError }
            pending = [PendingCommand(read, scope, for: nil)]
        }
        guard reader.remaining > 0 else { return }
        try heartbeat.decodeRest(from: &reader)
        let waiting = Int(try reader.take(1)[0])
        guard pending.count + waiting <= Self.maxPendingCount else { throw reader.corruptError }
        for _ in 0..<waiting { pending.append(try PendingCommand(from: &reader)) }
    }
}
