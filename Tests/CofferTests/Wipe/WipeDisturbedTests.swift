@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// A wipe needs nothing readable; and what cannot be told to be a vault is left alone.
///
/// One test after the other: the kernel lets an ordinary user have 200 keys and 20 000 bytes of them.
@Suite("Wipes of disturbed homes", .serialized)
struct WipeDisturbedTests {
    private static let token = "a token nobody may find"
    private let manager = FileManager.default

    /// Ways in which one file can be damaged, gone or something else.
    enum Damage: CaseIterable {
        case missing, empty, truncated, magic, identity, longer, directory, fullDirectory, link, pipe

        func apply(to path: String, outside: String) throws {
            let manager = FileManager.default
            var bytes = [UInt8](manager.contents(atPath: path) ?? Data(count: 64))
            try? manager.removeItem(atPath: path)
            switch self {
            case .missing: return
            case .empty: bytes = []
            case .truncated: bytes.removeLast(min(bytes.count, 480))
            case .magic: bytes[3] ^= 1
            case .identity: bytes[20] ^= 1
            case .longer: bytes += [1, 2, 3]
            case .directory, .fullDirectory:
                try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
                if self == .fullDirectory { try Data([1]).write(to: URL(filePath: path + "/in it")) }
                return
            case .link: return try manager.createSymbolicLink(atPath: path, withDestinationPath: outside)
            case .pipe:
                #expect(try Helper.run(["mkfifo", path]).code == 0)
                return
            }
            try Data(bytes).write(to: URL(filePath: path))
        }
    }

    /// A home with a token, and with its keys in the kernel keyring where there is one.
    private func filled(_ passcode: String = "correct horse") async throws -> (TestHome, VaultID) {
        let home = try TestHome()
        let session = try await home.create(passcode)
        try await session.tokens.put(
            Token(copying: Self.token), for: TokenID(service: "api.example.org", account: "ada"))
        _ = try await session.keyPairs.generate(.ed25519, alias: "work")
        if KernelKeyring.isAvailable {
            try await session.cacheKeysInKernel()
            #expect(KernelKeyCache.isAnyLeft(vaultID: session.vaultID))
        }
        try home.scratch.write("outside", Array("somebody's letter".utf8))
        return (home, session.vaultID)
    }

    private func isWhole(_ home: TestHome) throws -> Bool {
        try home.scratch.read("outside") == Array("somebody's letter".utf8)
    }

    @Test(
        "With any damage to the state, an opening erases nothing and a wipe everything",
        arguments: Damage.allCases)
    func state(_ damage: Damage) async throws {
        let (home, vaultID) = try await filled()
        let state = home.homePath("state").string
        try damage.apply(to: state, outside: home.scratch.path(of: "outside"))
        let before = try home.everything()
        let code = await refusal { _ = try await home.open() }?.code
        #expect([.corrupt, .refused, .foreign, .inputOutput].contains(code), "\(code?.name ?? "opened")")
        #expect(try home.everything() == before)

        let receipt = try await Vault.wipe(at: home.location, reason: "lost")
        #expect(receipt.removed["keys"] == 4 && receipt.failures.isEmpty)
        #expect(damage == .identity || receipt.vaultID == vaultID.uuid)
        #expect(!KernelKeyCache.isAnyLeft(vaultID: vaultID))
        #expect(try isWhole(home))
        #expect(!manager.fileExists(atPath: home.homePath("vault").string))
        guard damage != .fullDirectory else {
            // An entry that another program put there does not belong to the vault.
            #expect(manager.fileExists(atPath: state + "/in it"))
            #expect(receipt.unverified.contains { $0.contains("final record") })
            return
        }
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
    }

    @Test("The tombstone of another vault erases nothing of this one")
    func foreignTombstone() async throws {
        let (home, vaultID) = try await filled()
        let state = try home.scratch.descriptor.open(FilePath("home"), [.read, .directory])
        let own = try #require(try VaultStateFile.read(in: state))
        #expect(own.vaultID == vaultID)
        let stranger = try await filled().1
        for word in [VaultStateFile.Phase.wiping, .wiped, .wipingTokens] {
            try VaultStateFile(phase: word, vaultID: stranger).write(in: state)
            let before = try home.everything()
            #expect(await refusal { _ = try await home.open() }?.code == .foreign)
            #expect(try home.everything() == before, "\(word)")
        }
        try own.write(in: state)
        #expect(try await home.open().tokens.count() == 1)
        // Asked for, the wipe takes the vault that is here.
        try VaultStateFile(phase: .wiped, vaultID: stranger).write(in: state)
        #expect(try await Vault.wipe(at: home.location).failures.isEmpty)
        #expect(!KernelKeyCache.isAnyLeft(vaultID: vaultID))
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
        KernelKeyCache.remove(vaultID: stranger, all: true)
    }

    @Test(
        "A foreign tombstone erases nothing even without a readable device record",
        arguments: ["absent", "damaged", "directory"])
    func foreignTombstoneWithoutDevice(_ damage: String) async throws {
        let (home, vaultID) = try await filled()
        let state = try home.scratch.descriptor.open(FilePath("home"), [.read, .directory])
        let stranger = try await filled().1
        let device = try home.read("device")
        try home.remove("device")
        switch damage {
        case "damaged": try home.write("device", Array(device.dropLast()) + [~device[device.count - 1]])
        case "directory":
            try manager.createDirectory(
                atPath: home.path("device").string, withIntermediateDirectories: false)
        default: break
        }
        for word in [VaultStateFile.Phase.wiping, .wiped, .wipingTokens] {
            try VaultStateFile(phase: word, vaultID: stranger).write(in: state)
            let before = try home.everything()
            #expect(await refusal { _ = try await home.open() }?.code == .foreign)
            #expect(try home.everything() == before, "\(word)")
        }
        #expect(try await Vault.wipe(at: home.location).failures.isEmpty)
        #expect(!KernelKeyCache.isAnyLeft(vaultID: vaultID))
        KernelKeyCache.remove(vaultID: stranger, all: true)
    }

    @Test(
        "A wipe removes keys from the kernel without waiting for the home's lock",
        .enabled(if: KernelKeyring.isAvailable), .timeLimit(.minutes(10)))
    func lockHeld() async throws {
        let (home, vaultID) = try await filled()
        let inside = try await Vault.create(
            at: home.location.namespace(of: "ada"), options: TestHome.options(), passcode: nil)
        try await inside.cacheKeysInKernel()
        let directory = try Descriptor.open(home.location.path, [.read, .directory])
        let lock = try FileLock.acquire("lock", in: directory, deadline: .seconds(5))
        let wipe = Vault.startWipe(at: home.location)
        // Half of the time that a wipe waits for the lock.
        let end = ContinuousClock.now + VaultDirectory.lockDeadline / 2
        func isAnyLeft() -> Bool {
            [vaultID, inside.vaultID].contains { KernelKeyCache.isAnyLeft(vaultID: $0) }
        }
        while isAnyLeft(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
        #expect(!isAnyLeft())
        #expect(manager.fileExists(atPath: home.path("keybag").string))
        extendLifetime(lock)
        _ = consume lock
        #expect(try await wipe.receipt.failures.isEmpty)
    }

    @Test("A wipe does not follow a link in a key file's place, and the receipt says so")
    func linkedKey() async throws {
        let (home, _) = try await filled()
        let (keybag, moved) = (home.path("keybag").string, home.scratch.path(of: "moved"))
        try manager.moveItem(atPath: keybag, toPath: moved)
        try manager.createSymbolicLink(atPath: keybag, withDestinationPath: moved)
        let receipt = try await Vault.wipe(at: home.location)
        #expect(receipt.unverified.contains { $0.contains("keybag") && $0.contains("link") })
        #expect(manager.fileExists(atPath: moved))
        #expect(!manager.fileExists(atPath: home.homePath("vault").string))
    }

    @Test(
        "With any damage to a file of the vault, a wipe removes everything and follows no link",
        arguments: [
            "device", "keybag", "attempts", "filekeys", "fileindex", "tokens", "keypairs", "files", "orders",
        ])
    func files(_ name: String) async throws {
        for damage in Damage.allCases {
            let (home, vaultID) = try await filled()
            try damage.apply(to: home.path(name).string, outside: home.scratch.path(of: "outside"))
            let receipt = try await Vault.wipe(at: home.location)
            #expect(receipt.failures.isEmpty && receipt.vaultID == vaultID.uuid)
            #expect(!KernelKeyCache.isAnyLeft(vaultID: vaultID))
            #expect(try isWhole(home))
            #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"], "\(damage)")
        }
    }

    @Test("A session wipes its vault even without a state, and never another in its place")
    func session() async throws {
        for damage in [Damage.missing, .magic, .pipe] {
            let (home, _) = try await filled()
            let session = try await home.open()
            try damage.apply(to: home.homePath("state").string, outside: "/")
            _ = try await session.wipe()
            #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"], "\(damage)")
            let other = try await home.create("anew")
            try damage.apply(to: home.homePath("state").string, outside: "/")
            let before = try home.everything()
            #expect(await refusal { _ = try await session.wipe() }?.code == .wiped)
            #expect(try home.everything() == before)
            _ = try await other.wipe()
        }
    }

    @Test("A directory without any sign of a vault is refused and stays as it is")
    func noVault() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("home"))
        let home = location.path.string
        let layouts: [[String: String]] = [
            [:], ["letter": "a letter"], ["state": "of the union"], ["vault/": ""],
            ["vault/gold": "bars", "state": "of the union"], ["vault/device": "a pump", "users/ada": "x"],
            ["state/x": "y", "vault/files": "z"],
            // Every name that a vault has.
            [
                "state": "", "lock": "", "vault/device": "a pump", "vault/keybag": "a", "vault/attempts": "b",
                "vault/filekeys": "c", "vault/fileindex": "d", "vault/tokens": "e", "vault/orders": "f",
                "vault/keypairs": "h",
                "vault/files/3D9B9D7B-7B0B-4B4D-8A57-6B6F0D6D4A11": "g",
            ],
        ]
        for layout in layouts {
            try? manager.removeItem(atPath: home)
            try manager.createDirectory(atPath: home, withIntermediateDirectories: false)
            for (name, text) in layout {
                let path = home + "/" + name
                let folder = name.hasSuffix("/") ? path : (path as NSString).deletingLastPathComponent
                try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
                if !name.hasSuffix("/") { try Data(text.utf8).write(to: URL(filePath: path)) }
            }
            let before = try manager.subpathsOfDirectory(atPath: home).sorted().filter { $0 != "lock" }
            let code = await refusal { _ = try await Vault.wipe(at: location) }?.code
            #expect(
                [.notInitialised, .corrupt, .refused].contains(code), "\(layout): \(code?.name ?? "wiped")")
            let left = try manager.subpathsOfDirectory(atPath: home).sorted().filter { $0 != "lock" }
            #expect(left == before, "\(layout)")
            for (name, text) in layout where !name.hasSuffix("/") {
                #expect(manager.contents(atPath: home + "/" + name) == Data(text.utf8))
            }
        }
    }

    @Test(
        "One file with Coffer's magic anywhere is sign enough for a wipe; none is not",
        arguments: [
            "state", "device", "keybag", "attempts", "filekeys", "fileindex", "tokens", "keypairs", "files",
            "",
        ])
    func oneSign(_ kept: String) async throws {
        let (home, vaultID) = try await filled()
        let session = try await home.unlocked("correct horse")
        _ = try await session.files.add(contentsOf: home.scratch.path.appending("outside"))
        for name in try home.everything().keys where name != "lock" {
            let isKept =
                kept == "files" ? name.contains("/files/") : ("/" + name).hasSuffix("/" + kept)
            guard kept.isEmpty || !isKept else { continue }
            var bytes = [UInt8](try #require(manager.contents(atPath: home.homePath(name).string)))
            // No magic, in neither slot.
            for start in stride(from: 0, to: bytes.count, by: 512) { bytes[start] ^= 1 }
            try Data(bytes).write(to: URL(filePath: home.homePath(name).string))
        }
        guard !kept.isEmpty else {
            let before = try home.everything()
            #expect(await refusal { _ = try await Vault.wipe(at: home.location) }?.code == .corrupt)
            #expect(try home.everything() == before)
            session.close()
            return
        }
        #expect(try await Vault.wipe(at: home.location).failures.isEmpty)
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
        KernelKeyCache.remove(vaultID: vaultID, all: true)
    }

    @Test(
        "A wipe does not touch a home of another user",
        .enabled(if: TestUser.isRoot, "only root can give one away"))
    func foreign() async throws {
        let (home, vaultID) = try await filled()
        let path = home.location.path.string
        try manager.setAttributes([.ownerAccountID: TestUser.nobody], ofItemAtPath: path)
        let before = try home.everything()
        #expect(await refusal { _ = try await Vault.wipe(at: home.location) }?.code == .refused)
        #expect(try home.everything() == before)
        try manager.setAttributes([.ownerAccountID: 0], ofItemAtPath: path)
        _ = try await Vault.wipe(at: home.location)
        #expect(!KernelKeyCache.isAnyLeft(vaultID: vaultID))
    }

    @Test("A linked vault stays where it is, and the error says so; its cached keys are removed")
    func linkedVault() async throws {
        let (home, vaultID) = try await filled()
        let aside = home.scratch.path(of: "aside")
        try manager.moveItem(atPath: home.homePath("vault").string, toPath: aside)
        try manager.createSymbolicLink(
            atPath: home.homePath("vault").string, withDestinationPath: aside)
        let wipe = Vault.startWipe(at: home.location)
        #expect(await refusal { _ = try await wipe.receipt }?.code == .refused)
        #expect(await wipe.partialReceipt?.failures.count == 1)
        #expect(await wipe.partialReceipt?.keysDestroyedAfterMilliseconds == nil)
        #expect(!KernelKeyCache.isAnyLeft(vaultID: vaultID))
        #expect(manager.fileExists(atPath: aside + "/keybag"))
        // Put back, the next opening finishes it.
        try manager.removeItem(atPath: home.homePath("vault").string)
        try manager.moveItem(atPath: aside, toPath: home.homePath("vault").string)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
    }

    @Test(
        "A wipe proceeds past a held or unusable lock",
        arguments: [nil, .missing, .fullDirectory, .link, .pipe] as [Damage?])
    func lock(_ damage: Damage?) async throws {
        let (home, vaultID) = try await filled()
        let inside = try VaultDirectory.openForWiping(home.location) { _ in true }
        let held = try FileLock.tryAcquire("lock", in: inside.directory)
        #expect(try FileLock.tryAcquire("lock", in: inside.directory).isAbsent)
        try damage?.apply(
            to: home.homePath("lock").string, outside: home.scratch.path(of: "outside"))
        var eraser = VaultEraser(home: inside, clock: .system)
        eraser.lockDeadline = .milliseconds(20)
        let receipt = try eraser.wipe(.all, reason: "lost", by: nil)
        extendLifetime(held)
        #expect(
            receipt.unverified.contains { $0.contains("the vault's lock") }
                == (damage != .missing && damage != .pipe))
        #expect(receipt.removed["keys"] == 4 && receipt.failures.isEmpty)
        #expect(!KernelKeyCache.isAnyLeft(vaultID: vaultID))
        #expect(!manager.fileExists(atPath: home.homePath("vault").string))
        #expect(try isWhole(home))
    }
}

extension Optional where Wrapped: ~Copyable {
    fileprivate var isAbsent: Bool {
        switch self {
        case .none: true
        case .some: false
        }
    }
}
