@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Nothing says who handed a value to a locked vault: which values may replace a stored one, and which not.
@Suite("The origin of values that are stored while locked")
struct ProvenanceTests {
    private static let passcode = "correct horse"

    private func id(_ account: String = "ada") throws -> TokenID {
        try TokenID(service: "api.example.org", account: account)
    }

    private func value(_ session: Vault, _ account: String = "ada") async throws -> String? {
        try await session.tokens.withToken(for: id(account)) { token, _ in
            token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        }
    }

    @discardableResult
    private func put(
        _ value: String, _ account: String = "ada", in session: Vault,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws -> PutResult {
        try await session.tokens.put(Token(copying: value), for: id(account), class: protection)
    }

    private func unlock(_ session: Vault) async throws {
        try await session.unlock(with: Passcode(copying: Self.passcode))
    }

    /// A home with the value "good", open and unlocked, and a stranger to it: locked, and never otherwise.
    private func scene() async throws -> (home: TestHome, owner: Vault, stranger: Vault) {
        let home = try TestHome()
        let owner = try await home.create(Self.passcode)
        try await put("good", in: owner)
        owner.lock()
        return (home, try await home.unlocked(Self.passcode), try await home.open())
    }

    /// Plants a box that any program with the home and the device key can make.
    private func plant(
        _ id: TokenID, under name: TokenID, by session: Vault,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly, ticket: ReplacementTicket? = nil
    ) throws {
        let core = session.core
        let publicKey = try #require(try core.readKeybag().publicKeys[protection])
        let hash = try session.tokens.name(of: name)
        let info = TokenInfo(
            id: id, version: nil, protection: protection, stored: Date(), expires: nil, scopes: [],
            attributes: [:])
        try core.pendingTokens.add(in: core.home.openVault()) { (number) throws(CofferError) in
            try PendingToken.seal(
                Token(copying: "planted"), info: info, tokenKey: SecretBytes.random(count: 32),
                number: number,
                to: PendingToken.Destination(
                    name: hash, publicKey: publicKey, vaultID: core.device.vaultID, ticket: ticket))
        }
    }

    @Test("A stranger's value does not replace a stored one until it is accepted")
    func strangers() async throws {
        let (home, owner, stranger) = try await scene()
        defer { extendLifetime(home) }
        #expect(try await put("evil", in: stranger) == .queued)
        #expect(try await value(owner) == "good")
        #expect(try await value(owner) == "good")
        let pending = try await owner.tokens.pending()
        #expect(pending.map(\.info.id) == [try id()])
        #expect(pending.map(\.info.version) == [nil])
        let waiting = PendingTokenCount(pending: 0, unconfirmed: 1, corrupt: 0)
        #expect(try await owner.tokens.pendingTokens() == waiting)
        #expect(try await owner.tokens.list().map(\.version) == [1])
        // Neither a new value nor another unlock changes that.
        #expect(try await put("better", in: owner) == .stored(version: 2))
        owner.lock()
        try await unlock(owner)
        #expect(try await value(owner) == "better")
        #expect(try await owner.tokens.pending().count == 1)
        #expect(try await owner.tokens.reject(id()) == 1)
        #expect(try await owner.tokens.pending().isEmpty)
        #expect(try await value(owner) == "better")
        #expect(try await owner.tokens.accept(id()) == nil)
    }

    @Test("An accepted value replaces the stored one, and its writer may continue from it")
    func accepted() async throws {
        let (home, owner, stranger) = try await scene()
        defer { extendLifetime(home) }
        #expect(try await put("next", in: stranger) == .queued)
        #expect(try await value(stranger) == "next")
        #expect(try await value(owner) == "good")
        #expect(try await owner.tokens.accept(id()) == 2)
        #expect(try await value(owner) == "next")
        #expect(try await owner.tokens.info(for: id())?.isStoredWhileLocked == false)
        #expect(try await put("after next", in: stranger) == .queued)
        #expect(try await value(owner) == "after next")
        #expect(try await owner.tokens.info(for: id())?.version == 3)
    }

    @Test("A session that knows the stored value replaces it while locked, repeatedly")
    func background() async throws {
        let (home, owner, _) = try await scene()
        let program = try await home.unlocked(Self.passcode)
        #expect(try await value(program) == "good")
        program.lock()
        #expect(await refusal { _ = try await value(program) }?.code == .locked)
        for round in 1...3 {
            #expect(try await put("rotated \(round)", in: program) == .queued)
            // Only the program that stored the new value can read it, locked or not.
            #expect(try await value(program) == "rotated \(round)")
        }
        #expect(try await value(owner) == "rotated 3")
        // Stored by another process meanwhile; it goes on from there.
        #expect(await refusal { _ = try await value(program) }?.code == .locked)
        #expect(try await put("rotated 4", in: program) == .queued)
        #expect(try await value(owner) == "rotated 4")
        #expect(try await owner.tokens.info(for: id())?.version == 5)
        #expect(try await owner.tokens.pending().isEmpty)
        try await unlock(program)
        #expect(try await value(program) == "rotated 4")
    }

    @Test("A program that refreshes while locked refreshes its own newest value")
    func refreshing() async throws {
        let (home, owner, _) = try await scene()
        let program = try await home.unlocked(Self.passcode)
        let seen = CollectedEvents()
        func rotate(_ next: String, lockingFirst: Bool = false) async throws -> CofferError? {
            await refusal {
                _ = try await program.tokens.refresh(id()) { current, _ throws(CofferError) in
                    if lockingFirst { program.lock() }
                    seen.append(current.exposing { $0.copied() })
                    return RefreshResponse(try Token(copying: next))
                }
            }
        }
        #expect(try await rotate("one", lockingFirst: true)?.code == .locked)
        #expect(try await rotate("two")?.code == .locked)
        #expect(seen.bytes == Array("goodone".utf8))
        #expect(try await value(owner) == "two")
    }

    @Test("A value that continues an outdated one does not replace the newest")
    func stale() async throws {
        let (home, owner, _) = try await scene()
        let program = try await home.unlocked(Self.passcode)
        #expect(try await value(program) == "good")
        program.lock()
        #expect(try await put("newest", in: owner) == .stored(version: 2))
        #expect(try await put("stale", in: program) == .queued)
        #expect(try await value(owner) == "newest")
        #expect(try await owner.tokens.pending().count == 1)
    }

    @Test("Closing a session ends its right to replace, and its own values")
    func closed() async throws {
        let (home, owner, _) = try await scene()
        let program = try await home.unlocked(Self.passcode)
        #expect(try await value(program) == "good")
        program.lock()
        #expect(try await put("first", in: program) == .queued)
        program.close()
        #expect(await refusal { _ = try await value(program) }?.code == .locked)
        #expect(try await put("second", in: program) == .queued)
        #expect(try await value(owner) == "first")
        #expect(try await owner.tokens.pending().count == 1)
    }

    @Test("An inbox file that is put back does not replace a value a second time")
    func replayed() async throws {
        let (home, owner, _) = try await scene()
        let program = try await home.unlocked(Self.passcode)
        #expect(try await value(program) == "good")
        program.lock()
        #expect(try await put("once", in: program) == .queued)
        let file = "inbox/0000000000000001-1"
        let bytes = try home.read(file)
        #expect(try await value(owner) == "once")
        #expect(try await put("twice", in: program) == .queued)
        #expect(try await value(owner) == "twice")
        try FileManager.default.createDirectory(
            atPath: home.path("inbox").string, withIntermediateDirectories: false)
        try home.write(file, bytes)
        #expect(try await value(owner) == "twice")
        #expect(try await owner.tokens.pending().count == 1)
    }

    @Test("A ticket of one token does not replace another")
    func otherToken() async throws {
        let (home, owner, stranger) = try await scene()
        defer { extendLifetime(home) }
        try await put("other", "bob", in: owner)
        let name = try owner.tokens.name(of: id("bob"))
        let ticket = try #require(owner.core.tickets[name])
        try plant(id(), under: id(), by: stranger, ticket: ticket)
        #expect(try await value(owner) == "good")
        try plant(id("bob"), under: id("bob"), by: stranger, ticket: ticket)
        #expect(try await value(owner, "bob") == "planted")
    }

    @Test("A box under another token's name or of a reserved service is damaged")
    func names() async throws {
        let (home, owner, stranger) = try await scene()
        defer { extendLifetime(home) }
        try plant(id("other"), under: id("new"), by: stranger)
        let reserved = try DatabaseKeyNaming.id("database", "notes")
        try plant(reserved, under: reserved, by: stranger)
        #expect(try await owner.tokens.list().map(\.id) == [try id()])
        #expect(try await owner.tokens.pendingTokens() == PendingTokenCount(pending: 0, corrupt: 2))
        for session in [owner, stranger] {
            let error = await refusal { try await session.tokens.put(Token(copying: "x"), for: reserved) }
            #expect(error?.code == .refused)
        }
        #expect(try await owner.tokens.pendingTokens().pending == 0)
    }

    @Test("A new name is stored and marked until a session stores a value unlocked")
    func newNames() async throws {
        let (home, owner, stranger) = try await scene()
        defer { extendLifetime(home) }
        #expect(try await put("new", "eve", in: stranger) == .queued)
        #expect(try await value(owner, "eve") == "new")
        #expect(try await owner.tokens.info(for: id("eve"))?.isStoredWhileLocked == true)
        #expect(try await owner.tokens.info(for: id())?.isStoredWhileLocked == false)
        // Its writer goes on from it; the mark stays.
        #expect(try await put("newer", "eve", in: stranger) == .queued)
        #expect(try await value(owner, "eve") == "newer")
        #expect(try await owner.tokens.info(for: id("eve"))?.isStoredWhileLocked == true)
        #expect(try await put("own", "eve", in: owner) == .stored(version: 3))
        #expect(try await owner.tokens.info(for: id("eve"))?.isStoredWhileLocked == false)
        #expect(try await put("newest", "eve", in: stranger) == .queued)
        #expect(try await value(owner, "eve") == "own")
    }

    @Test("A planted value does not block the renewal of a token of an open class")
    func renewalOvertakes() async throws {
        let home = try TestHome()
        let owner = try await home.create(Self.passcode)
        try await put("R1", in: owner, class: .afterFirstUnlockThisDeviceOnly)
        owner.lock()
        let planter = try await home.open()
        func renew(_ value: String) async throws -> RefreshResult? {
            try await owner.tokens.refresh(id()) { _, _ throws(CofferError) in
                RefreshResponse(try Token(copying: value))
            }
        }
        #expect(try await renew("R2")?.didRefresh == true)
        #expect(try await put("EVIL", in: planter, class: .whenUnlocked) == .queued)
        for (value, version) in [("R3", 3), ("R4", 4)] as [(String, UInt64)] {
            #expect(try await renew(value)?.info.version == version)
            #expect(try await self.value(owner) == value)
        }
        #expect(try await put("R5", in: owner, class: .afterFirstUnlockThisDeviceOnly) == .stored(version: 5))
        // Into a class that is locked it waits, as before, and from then on what is newer waits behind it.
        #expect(try await owner.tokens.pendingTokens() == PendingTokenCount(pending: 1, corrupt: 0))
        #expect(try await put("R6", in: owner, class: .whenUnlocked) == .queued)
        #expect(try await put("R7", in: owner, class: .afterFirstUnlockThisDeviceOnly) == .queued)
        #expect(try await value(owner) == "R7")
        try await unlock(owner)
        #expect(try await value(owner) == "R7")
        #expect(try await owner.tokens.info(for: id())?.version == 7)
        let pending = try await owner.tokens.pending()
        #expect(pending.count == 1 && pending.first?.info.protection == .whenUnlocked)
        #expect(try await owner.tokens.accept(id()) == 8)
        #expect(try await value(owner) == "EVIL")
    }

    @Test("The fingerprint selects one of several pending values, and removal takes all")
    func several() async throws {
        let (home, owner, stranger) = try await scene()
        let another = try await home.open()
        #expect(try await put("a", in: stranger) == .queued)
        #expect(try await put("b", in: another) == .queued)
        #expect(try await put("c", in: stranger) == .queued)
        #expect(try await value(owner) == "good")
        let error = await refusal { _ = try await owner.tokens.accept(id()) }
        let prints = try await owner.tokens.pending().map(\.fingerprint)
        #expect(error?.code == .ambiguous && error?.entries == prints && Set(prints).count == 3)
        #expect(try await owner.tokens.accept(id(), fingerprint: "0000000000000009") == nil)
        #expect(try await owner.tokens.accept(id("bob"), fingerprint: prints[1]) == nil)
        #expect(try await owner.tokens.accept(id(), fingerprint: prints[1]) == 2)
        #expect(try await value(owner) == "b")
        #expect(try await stranger.tokens.reject(id(), fingerprint: prints[0]) == 1)
        #expect(try await owner.tokens.pending().map(\.fingerprint) == [prints[2]])
        #expect(try await owner.tokens.remove(id()))
        #expect(try await owner.tokens.pending().isEmpty)
        #expect(try await owner.tokens.count() == 0)
        #expect(!FileManager.default.fileExists(atPath: home.path("inbox").string))
    }

    @Test("A value that took the place of the listed one is not accepted for it")
    func exchanged() async throws {
        let (home, owner, stranger) = try await scene()
        #expect(try await put("seen", in: stranger) == .queued)
        #expect(try await value(owner) == "good")
        let seen = try #require(try await owner.tokens.pending().first?.fingerprint)
        #expect(seen.utf8.count == 16)
        // Another process rejects it, and a third hands in its own: first in the list as that one was.
        #expect(try await home.open().tokens.reject(id()) == 1)
        #expect(try await put("evil", in: try await home.open()) == .queued)
        #expect(try await value(owner) == "good")
        #expect(try home.read("inbox/unconfirmed-0000000000000001-1").count > 0)
        let now = try await owner.tokens.pending().map(\.fingerprint)
        #expect(now.count == 1 && now != [seen])
        #expect(try await owner.tokens.accept(id(), fingerprint: seen) == nil)
        #expect(try await owner.tokens.reject(id(), fingerprint: seen) == 0)
        #expect(try await value(owner) == "good")
        #expect(try await owner.tokens.pending().map(\.fingerprint) == now)
        #expect(try await owner.tokens.accept(id(), fingerprint: now[0]) == 2)
    }

    @Test("A locked session knows the fingerprint under which its value is listed")
    func ownFingerprint() async throws {
        let (home, owner, stranger) = try await scene()
        defer { extendLifetime(home) }
        #expect(try await put("next", in: stranger) == .queued)
        let own = try #require(try await stranger.tokens.ownPendingFingerprint(for: id()))
        #expect(try await stranger.tokens.ownPendingFingerprint(for: id("bob")) == nil)
        #expect(try await value(owner) == "good")
        #expect(try await owner.tokens.pending().map(\.fingerprint) == [own])
        #expect(try await owner.tokens.accept(id(), fingerprint: own) == 2)
        #expect(try await value(owner) == "next")
    }

    @Test("A value that no unlock has seen yet can be neither accepted nor rejected")
    func unsorted() async throws {
        let (home, owner, stranger) = try await scene()
        #expect(try await put("new", in: stranger) == .queued)
        let locked = try await home.open()
        #expect(await refusal { _ = try await locked.tokens.accept(id()) }?.code == .locked)
        #expect(await refusal { _ = try await locked.tokens.reject(id()) }?.code == .locked)
        let wrong = await refusal { _ = try await locked.tokens.reject(id(), fingerprint: "00") }
        #expect(wrong?.code == .locked)
        #expect(try await locked.tokens.reject(id("bob")) == 0)
        #expect(try await value(owner) == "good")
        #expect(try await locked.tokens.reject(id()) == 1)
        #expect(try await locked.tokens.reject(id()) == 0)
    }

    @Test("Accepting and listing pending values require the keys")
    func locked() async throws {
        let (home, owner, stranger) = try await scene()
        defer { extendLifetime(home) }
        #expect(try await put("evil", in: stranger) == .queued)
        #expect(try await value(owner) == "good")
        #expect(await refusal { _ = try await stranger.tokens.pending() }?.code == .locked)
        #expect(await refusal { _ = try await stranger.tokens.accept(id()) }?.code == .locked)
        #expect(try await value(owner) == "good")
    }

    @Test("A value waits behind a damaged token, and accepting it repairs the name")
    func damaged() async throws {
        let (home, owner, stranger) = try await scene()
        defer { extendLifetime(home) }
        let vault = try owner.core.home.openVault()
        let file = TokenFile(device: owner.core.device)
        var contents = try file.read(in: vault).contents
        contents.envelopes[try owner.tokens.name(of: id())]?[120] ^= 1
        try file.write(contents, in: vault)
        #expect(try await put("new", in: stranger) == .queued)
        #expect(await refusal { _ = try await value(owner) }?.code == .corrupt)
        #expect(try await owner.tokens.accept(id()) == 1)
        #expect(try await value(owner) == "new")
    }

    @Test("Malformed names in the inbox are ignored, and none crashes the process")
    func fileNames() async throws {
        let (home, owner, stranger) = try await scene()
        try FileManager.default.createDirectory(
            atPath: home.path("inbox").string, withIntermediateDirectories: false)
        for name in [
            "1-1", "000000000000000A-1", "0000000000000001-01", "0000000000000001-1-1", "-", "damaged-",
            "unconfirmed-damaged-0000000000000001-1", "+000000000000001-1", "0000000000000001-+1",
        ] {
            try home.write("inbox/" + name, [])
        }
        #expect(try await owner.tokens.pendingTokens() == PendingTokenCount(pending: 0, corrupt: 0))
        #expect(try await put("x", "new", in: stranger) == .queued)
        try home.write("inbox/ffffffffffffffff-1", [])
        let error = await refusal { try await put("y", "newer", in: stranger) }
        #expect(error?.code == .corrupt)
        #expect(try await value(owner, "new") == "x")
    }
}
