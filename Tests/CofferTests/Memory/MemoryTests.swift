@testable import Coffer
import CofferBase
@testable import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// The memory of a locked process, read by another process.
@Suite(
    "Memory of a locked process, read from outside",
    .enabled(if: ProcessScan.isPossible, "the memory of another process cannot be read here"))
struct MemoryTests {
    private static let passcode = "Zq4-passcode-of-the-memory-test-7Xw"
    private static let token = "tok_9fK2mLq7Rz0VbN4xT8sYcA1eHuJ6wPdGiO3kQvC5yB-end-of-token"
    private static let content = "file: 5tGhY7ujM3edCrF8vBn2wSxZ1qAz0OpL9iKmN6jU4hYbR-end-of-file"

    @Test("A lock, a close and a wipe each remove their secrets from memory")
    func afterLockNoSecretIsLeft() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        try home.scratch.write("secret.txt", Array(Self.content.utf8))
        _ = try await session.files.add(contentsOf: home.scratch.path.appending("secret.txt"))
        let keys = session.core.keys.all
        let high = try #require(keys[.whenUnlockedThisDeviceOnly])
        let low = try #require(keys[.afterFirstUnlockThisDeviceOnly])
        let agent = try #require(Agent.start(["memory", home.location.path.string]))
        agent.send(Self.passcode)
        agent.send(Self.token)
        #expect(agent.line() == "holding")
        // Everything that goes at a lock, and what stays until the session is closed.
        var locked = windows("token", Self.token) + windows("passcode", Self.passcode)
        locked += windows("content", Self.content) + (try classKey("high", high, session.vaultID))
        locked.append(("derived", try derivedKey(session)))
        let closed = try classKey("low", low, session.vaultID)
        let device = try session.core.device.deviceKey().key.withSpan { Array($0.copied().prefix(16)) }

        let before = try scan(locked + closed + [("device key", device)], agent)
        for name in ["token 0", "passcode 0", "high key", "low key", "device key"] {
            #expect(
                before[name, default: 0] > 0, "\(name) is not found while it is in use: the search is blind")
        }
        agent.send("lock")
        #expect(agent.line() == "locked")
        let afterLock = try scan(locked, agent)
        #expect(afterLock.isEmpty, "left after lock: \(afterLock)")
        agent.send("close")
        #expect(agent.line() == "closed")
        let afterClose = try scan(locked + closed, agent)
        #expect(afterClose.isEmpty, "left after close: \(afterClose)")
        agent.send("wipe")
        #expect(agent.line() == "wiped")
        let afterWipe = try scan(locked + closed + [("device key", device)], agent)
        #expect(afterWipe.isEmpty, "left after the wipe: \(afterWipe)")
    }

    @Test(
        "After a lock signal, no class key is left in memory",
        .enabled(if: FakeDesktop.isPossible, "needs dbus, gnome-keyring and python3-dbusmock"),
        arguments: ["sleep", "screenSaver", "screenLock"])
    func afterASignalNoClassKeyIsLeft(_ reason: String) async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        let desktop = try #require(try FakeDesktop())
        let agent = try #require(
            Agent.start([
                "follow", home.location.path.string, desktop.sources.systemBus ?? "",
                desktop.sources.sessionBus ?? "",
            ]))
        agent.send(Self.passcode)
        #expect(agent.line() == "unlocked -")
        var needles: Needles = []
        for (protection, key) in session.core.keys.all where protection.isEvictedOnLock {
            needles += try classKey(protection.name, key, session.vaultID)
        }
        let before = try scan(needles, agent)
        for protection in ProtectionClass.allCases where protection.isEvictedOnLock {
            #expect(before["\(protection.name) key", default: 0] > 0, "the search is blind")
        }
        #expect(desktop.send(reason))
        #expect(agent.line() == "locked \(reason)")
        let after = try scan(needles, agent)
        #expect(after.isEmpty, "left after \(reason): \(after)")
        agent.send("end")
    }

    private typealias Needles = [(name: String, bytes: [UInt8])]

    /// Every 16 bytes of a text.
    private func windows(_ name: String, _ text: String) -> Needles {
        let bytes = Array(text.utf8)
        return (0...bytes.count - 16).map { ("\(name) \($0)", Array(bytes[$0..<$0 + 16])) }
    }

    /// Both halves of a class's key, and the first half of the keys that the stores derive from it.
    private func classKey(_ name: String, _ key: ClassKey, _ vaultID: VaultID) throws -> Needles {
        let raw = try key.key.withSpan { $0.copied() }
        let token = try key.tokenKEK.withSpan { $0.copied() }
        let context = vaultID.bytes
        let fileWrapping = try HKDF.deriveKey(
            from: key.key, info: KDFLabel.fileInnerWrapping, context: context.span)
        let file = try fileWrapping.withSpan { $0.copied() }
        // HMAC keeps its key in these two forms.
        let pads = [UInt8(0x36), 0x5c].map { pad in
            ("\(name) key under \(pad)", raw.prefix(16).map { $0 ^ pad })
        }
        return pads + [
            ("\(name) key", Array(raw.prefix(16))), ("\(name) key, second half", Array(raw.suffix(16))),
            ("\(name) token key", Array(token.prefix(16))), ("\(name) file key", Array(file.prefix(16))),
        ]
    }

    /// The key that Argon2id derives from the passcode.
    private func derivedKey(_ session: Vault) throws -> [UInt8] {
        let keybag = try session.core.readKeybag()
        let parameters = try #require(keybag.passcode)
        let passcode = try Passcode(copying: Self.passcode)
        let derived = try Argon2id.deriveKey(
            secret: passcode.secret, salt: parameters.salt.span, cost: parameters.cost)
        return try derived.withSpan { Array($0.copied().prefix(16)) }
    }

    /// Those that were found, with how often.
    private func scan(_ needles: Needles, _ agent: Helper) throws -> [String: Int] {
        let named = Dictionary(needles.map { ($0.name, $0.bytes) }) { first, _ in first }
        return try ProcessScan.count(named, in: agent.identifier).filter { $0.value > 0 }
    }
}
