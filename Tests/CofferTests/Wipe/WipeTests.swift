@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Wipes")
struct WipeTests {
    private static let secret = "a token nobody may find"
    private static let content = "the content of a private letter"
    private static let name = "private letter.txt"
    /// Long enough that no random bytes nor digits of theirs hold it by chance.
    private static let account = "ada.lovelace@example.org"

    /// A home with a token and a file.
    private func filled(_ passcode: String? = "correct horse") async throws -> (TestHome, Vault, FileID) {
        let home = try TestHome()
        let session = try await home.create(passcode)
        try await session.tokens.put(
            Token(copying: Self.secret), for: TokenID(service: "api.example.org", account: Self.account))
        try home.scratch.write(FilePath(Self.name), Array(Self.content.utf8))
        let id = try await session.files.add(contentsOf: home.scratch.path.appending(Self.name))
        return (home, session, id)
    }

    @Test("After a wipe, every operation of every session reports it")
    func afterAWipeEverythingSaysSo() async throws {
        let (home, session, id) = try await filled()
        let other = try await home.unlocked("correct horse")
        _ = try await session.wipe()
        let token = try TokenID(service: "api.example.org", account: Self.account)
        let source = home.scratch.path.appending(Self.name)
        let target = home.scratch.path.appending("out")
        for session in [session, other] {
            let uses: [() async throws -> Void] = [
                { _ = try await session.tokens.withToken(for: token) { _, _ in } },
                { try await session.tokens.put(Token(copying: "x"), for: token) },
                { _ = try await session.tokens.list() }, { _ = try await session.tokens.count() },
                { _ = try await session.tokens.remove(token) }, { _ = try await session.files.list() },
                { _ = try await session.files.add(contentsOf: source) },
                { _ = try await session.files.withDecryptedBytes(of: id) { $0.count } },
                { try await session.files.withViewCopy(of: id) { _ in } },
                { try await session.files.export(id, to: target) },
                { _ = try await session.files.remove(id) },
                { try await session.unlock(with: Passcode(copying: "correct horse")) },
                { try await session.changePasscode(to: nil, current: Passcode(copying: "correct horse")) },
                { _ = try await session.wipe() }, { _ = try await session.status() },
            ]
            for (number, use) in uses.enumerated() {
                #expect(await refusal(use)?.code == .wiped, "use \(number)")
            }
        }
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(try await Vault.status(at: home.location).state == .wiped)
        #expect(try !home.scratch.names().contains("out"))
    }

    @Test("A wipe leaves only the lock, the receipt and the tombstone")
    func nothingIsLeftButTheTombstone() async throws {
        let (home, session, _) = try await filled()
        let needles = [Self.secret, Self.content, Self.name, Self.account, "api.example.org"].map {
            Array($0.utf8)
        }
        let old = try home.everything()
        let wrapped = try session.core.readKeybag().keys.values.map { Array($0.encoded.suffix(72)) }
        // The search works: before they are sealed, these are found; and the keys' own bytes until the wipe.
        #expect(try home.scratch.read(FilePath(Self.name)).contains(needles[1]))
        for key in wrapped { #expect(try home.occurrences(of: key) == 1) }
        for needle in needles { #expect(try home.occurrences(of: needle) == 0) }
        _ = try await session.wipe()
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
        for needle in needles + wrapped { #expect(try home.occurrences(of: needle) == 0) }
        for (name, bytes) in old where name.hasPrefix("vault/") && bytes.count > 64 {
            #expect(try home.occurrences(of: Array(bytes.suffix(32))) == 0, "\(name)")
        }
    }

    @Test("The receipt states the reason, the counts and the times")
    func theReceiptSaysWhatHappened() async throws {
        let (home, session, _) = try await filled()
        let receipt = try await session.wipe(reason: "lost device")
        #expect(receipt.vaultID == session.vaultID.uuid)
        #expect(receipt.reason == "lost device")
        #expect(receipt.removed["keys"] == 4)
        #expect(receipt.removed["files"] == 1)
        #expect(receipt.removed["tokenFiles"] == 1)
        #expect(!receipt.completesInterrupted)
        #expect(receipt.started <= receipt.finished)
        #expect(try #require(receipt.keysDestroyedAfterMilliseconds) < 1000)
        #expect(!receipt.unverified.isEmpty)
        // Nobody told a server that the tokens are gone.
        #expect(receipt.mayLeaveSessions && receipt.unverified.contains(WipeFindings.sessions))
        let json = try Data(contentsOf: URL(filePath: home.homePath("receipt.json").string))
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let read = try decoder.decode(WipeReceipt.self, from: json)
        #expect(read.vaultID == receipt.vaultID && read.removed == receipt.removed)
    }

    @Test("A locked vault can be wiped without its passcode")
    func aLockedVaultIsWipedWithoutAPasscode() async throws {
        let (home, _, _) = try await filled()
        let session = try await home.open()
        #expect(!session.isUnlocked)
        _ = try await session.wipe()
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
    }

    /// A copy made before the wipe cannot be opened with anything that remains, nor in a new vault created in
    /// the same place.
    @Test("A copy of the files made before the wipe cannot be opened again")
    func aCopyOfTheFilesOpensWithNothing() async throws {
        let (home, session, id) = try await filled()
        let aside = home.scratch.path(of: "aside")
        try FileManager.default.copyItem(atPath: home.path("files").string, toPath: aside)
        _ = try await session.wipe()
        let created = try await home.create("correct horse")
        #expect(created.vaultID != session.vaultID)
        #expect(try await created.tokens.list().isEmpty)
        try FileManager.default.removeItem(atPath: home.path("files").string)
        try FileManager.default.moveItem(atPath: aside, toPath: home.path("files").string)
        #expect(await refusal { _ = try await created.files.info(for: id) }?.code == .foreign)
        #expect(await refusal { _ = try await home.open().files.verify(id) }?.code == .foreign)
        _ = try await home.unlocked("correct horse")
    }

    @Test("An old session cannot reach a new vault in the same place")
    func anOldSessionHasNoPartInANewVault() async throws {
        let (home, session, _) = try await filled()
        let other = try await home.unlocked("correct horse")
        _ = try await session.wipe()
        let created = try await home.create("correct horse")
        let token = try TokenID(service: "s", account: "a")
        try await created.tokens.put(Token(copying: "new"), for: token)
        for old in [session, other] {
            #expect(await refusal { try await old.tokens.put(Token(copying: "x"), for: token) } != nil)
            #expect(await refusal { _ = try await old.tokens.withToken(for: token) { _, _ in } } != nil)
            #expect(await refusal(of: "correct horse", by: old) != nil)
            let source = home.scratch.path.appending(Self.name)
            #expect(await refusal { _ = try await old.files.add(contentsOf: source) } != nil)
        }
        #expect(await refusal { _ = try await other.wipe() } != nil)
        #expect(try await created.tokens.info(for: token)?.version == 1)
        #expect(try await created.files.list().isEmpty)
        #expect(try await home.unlocked("correct horse").tokens.count() == 1)
    }

    /// The tombstone is there, and any part may be gone already.
    @Test(
        "An opening finishes an interrupted wipe, whichever parts are gone",
        arguments: [
            [], ["device"], ["device", "keybag"], ["device", "keybag", "attempts"], ["tokens"],
            ["device", "keybag", "attempts", "tokens"],
            ["device", "keybag", "attempts", "tokens", "files"], [""],
        ])
    func anInterruptedWipeIsFinished(missing: [String]) async throws {
        let (home, session, _) = try await filled()
        try VaultStateFile(phase: .wiping, vaultID: session.vaultID).write(in: session.core.home.directory)
        for name in missing { try home.remove(name) }
        #expect(
            await refusal {
                try await session.tokens.put(Token(copying: "x"), for: TokenID(service: "s", account: "a"))
            }?
            .code == .wiped)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
        let json = try Data(contentsOf: URL(filePath: home.homePath("receipt.json").string))
        #expect(String(decoding: json, as: UTF8.self).contains("\"completesInterrupted\" : true"))
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        let created = try await home.create("other")
        #expect(created.vaultID != session.vaultID)
    }

    @Test("Status, creation and wipe each finish an interrupted wipe")
    func everyWayInFinishesAnInterruptedWipe() async throws {
        for way in 0..<3 {
            let (home, session, _) = try await filled()
            try VaultStateFile(phase: .wiping, vaultID: session.vaultID).write(
                in: session.core.home.directory)
            switch way {
            case 0: #expect(try await Vault.status(at: home.location).state == .wiped)
            case 1: _ = try await home.create("created")
            default: #expect(try await session.wipe().completesInterrupted)
            }
            #expect(try home.occurrences(of: session.core.device.vaultID.bytes) <= 1)
            #expect(try home.everything().keys.contains("vault/tokens") == (way == 1))
        }
    }

    @Test("A wipe destroys the keys before a file that cannot be removed")
    func keysGoFirstWhateverHindersTheRest() async throws {
        let (home, session, id) = try await filled()
        let path = home.path("files").appending("\(id).coffer").string
        guard try Helper.run(["chattr", "+i", path]).code == 0 else { return }
        let error = await refusal { _ = try await session.wipe() }
        let left = try home.everything().keys.sorted()
        #expect(await refusal { _ = try await home.open() } != nil)
        #expect(try Helper.run(["chattr", "-i", path]).code == 0)
        #expect(error?.code == .permissionDenied)
        for name in ["device", "keybag", "attempts"] { #expect(!left.contains("vault/\(name)")) }
        #expect(left.contains("vault/files/\(id).coffer"))
        #expect(await refusal { _ = try await session.tokens.list() }?.code == .wiped)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
    }

    @Test("Key files already overwritten with zeros do not stop a wipe")
    func emptiedKeyFilesDoNotStopTheRest() async throws {
        let (home, session, _) = try await filled()
        try VaultStateFile(phase: .wiping, vaultID: session.vaultID).write(in: session.core.home.directory)
        for name in ["device", "keybag", "attempts"] {
            try home.write(name, [UInt8](repeating: 0, count: home.read(name).count))
        }
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
    }

    /// A creation after a wipe that was interrupted before it returned leaves no vault, because its caller
    /// does not know of it.
    @Test("An opening undoes a creation that was interrupted after a wipe")
    func anActivationCutShortIsUndone() async throws {
        let (home, session, _) = try await filled()
        _ = try await session.wipe()
        let other = try TestHome()
        let begun = try await other.create()
        // As a creation does, before its vault appears.
        try VaultStateFile(phase: .wiped, vaultID: begun.vaultID).write(in: session.core.home.directory)
        try FileManager.default.copyItem(
            atPath: other.location.path.appending("vault").string,
            toPath: home.location.path.appending("vault").string)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(!FileManager.default.fileExists(atPath: home.location.path.appending("vault").string))
        _ = try await home.create()
    }

    @Test("Concurrent writers learn of the wipe, and nothing reappears")
    func whoeverWritesMeanwhileIsToldAndNothingComesBack() async throws {
        for round in 0..<6 {
            let (home, session, _) = try await filled()
            let writers = [session, try await home.unlocked("correct horse")]
            try home.scratch.write("big", [UInt8](repeating: 7, count: 3 << 20))
            let big = home.scratch.path.appending("big")
            let ends = await withTaskGroup(of: CofferError.Code?.self) { group in
                for writer in 0..<4 {
                    group.addTask {
                        await refusal {
                            for number in 0... {
                                if writer < 2 {
                                    let id = try TokenID(service: "\(writer)-\(number)", account: "a")
                                    try await writers[writer].tokens.put(Token(copying: "x"), for: id)
                                } else {
                                    _ = try await writers[writer - 2].files.add(contentsOf: big)
                                }
                            }
                        }?.code
                    }
                }
                group.addTask {
                    try? await Task.sleep(for: .milliseconds(10 + round * 15))
                    let third = try? await home.open()
                    return await refusal { _ = try await third?.wipe() }?.code
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(ends.count { $0 == .wiped } == 4, "\(ends.map { $0?.name ?? "done" })")
            #expect(ends.count { $0 == nil } == 1)
            #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
        }
    }

    @Test("A wipe removes the directory of view copies")
    func aDirectoryOfViewCopiesGoesWithTheVault() async throws {
        let (home, session, id) = try await filled()
        let name = try? await session.files.withViewCopy(of: id) { _ in
            String(decoding: try home.read("viewroot"), as: UTF8.self)
        }
        _ = try await session.wipe()
        guard let name else { return }
        #expect(!FileManager.default.fileExists(atPath: "/dev/shm/" + name))
    }

    @Test("An empty directory cannot be wiped")
    func thereIsNothingToWipeInAnEmptyDirectory() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try FileManager.default.removeItem(atPath: home.location.path.string)
        try FileManager.default.createDirectory(
            atPath: home.location.path.string, withIntermediateDirectories: false)
        #expect(await refusal { _ = try await home.open() }?.code == .notInitialised)
        #expect(await refusal { _ = try await session.wipe() } != nil)
    }
}
