@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Tokens stored while locked")
struct PendingTokenTests {
    private static let passcode = "correct horse"

    private func id(_ account: String = "ada") throws -> TokenID {
        try TokenID(service: "api.example.org", account: account)
    }

    private func value(_ session: Vault, _ account: String = "ada") async throws -> String? {
        try await session.tokens.withToken(for: id(account)) { token, _ in
            token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        }
    }

    private func put(
        _ value: String, _ account: String = "ada", in session: Vault,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws -> PutResult {
        try await session.tokens.put(Token(copying: value), for: id(account), class: protection)
    }

    private func unlock(_ session: Vault) async throws {
        try await session.unlock(with: Passcode(copying: Self.passcode))
    }

    /// The files of the inbox.
    private func inbox(_ home: TestHome) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: home.path("inbox").string))?.sorted() ?? []
    }

    @Test("Until an unlock, only its own session reads a pending token", arguments: ProtectionClass.allCases)
    func itIsReadAfterAnUnlockAndOnlyThen(_ protection: ProtectionClass) async throws {
        let home = try TestHome()
        _ = try await home.create(Self.passcode)
        let session = try await home.open()
        let secret = "waiting-\(UUID().uuidString)"
        let date = Date(timeIntervalSince1970: 2_000_000_000)
        let result = try await session.tokens.put(
            Token(copying: secret), for: id(), class: protection, expires: date, scopes: ["a b"],
            attributes: ["k": "v"])
        #expect(result == .queued && result.version == nil)
        #expect(try await session.tokens.pendingTokens() == PendingTokenCount(pending: 1, corrupt: 0))
        #expect(try await session.tokens.count() == 0)
        #expect(try home.occurrences(of: Array(secret.utf8)) == 0)
        #expect(try home.occurrences(of: Array("api.example.org".utf8)) == 0)
        // The session that stored it can read it. To any other it is present but locked; a token that was
        // never stored is absent.
        #expect(try await value(session) == secret)
        let own = try #require(try await session.tokens.info(for: id()))
        #expect(own.version == nil)
        let other = try await home.open()
        #expect(await refusal { _ = try await value(other) }?.code == .locked)
        #expect(await refusal { _ = try await other.tokens.info(for: id()) }?.code == .locked)
        #expect(try await value(other, "nobody") == nil)
        #expect(await refusal(of: "wrong", by: other)?.code == .wrongPasscode)
        #expect(await refusal { _ = try await value(other) }?.code == .locked)

        try await unlock(session)
        #expect(try await value(session) == secret)
        let info = try #require(try await session.tokens.info(for: id()))
        #expect(info.version == 1 && info.protection == protection && info.expires == date)
        #expect(info.scopes == ["a b"] && info.attributes == ["k": "v"] && info.isStoredWhileLocked)
        #expect(try await session.tokens.pendingTokens() == PendingTokenCount(pending: 0, corrupt: 0))
        #expect(!FileManager.default.fileExists(atPath: home.path("inbox").string))
    }

    @Test("Several pending values keep their order")
    func severalKeepTheirOrder() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        #expect(try await put("one", in: session) == .stored(version: 1))
        session.lock()
        for text in ["two", "three", "four"] { #expect(try await put(text, in: session) == .queued) }
        #expect(try await put("other", "b", in: session) == .queued)
        try await unlock(session)
        #expect(try await value(session) == "four")
        #expect(try await session.tokens.info(for: id())?.version == 4)
        #expect(try await value(session, "b") == "other")
    }

    @Test("An unlocked session stores pending values before it reads or stores")
    func whoIsUnlockedStoresItFirst() async throws {
        let home = try TestHome()
        let open = try await home.create(Self.passcode)
        let locked = try await home.open()
        #expect(try await put("one", in: locked) == .queued)
        #expect(try await value(open) == "one")
        #expect(try await put("two", in: locked) == .queued)
        #expect(try await put("three", in: open) == .stored(version: 3))
        #expect(try await value(open) == "three")
        #expect(inbox(home).isEmpty)
    }

    @Test("A newer value of an open class waits behind an older one")
    func whatIsNewerWaitsBehindWhatIsOlder() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        session.lock()
        #expect(try await put("one", in: session) == .queued)
        #expect(try await put("two", in: session, class: .afterFirstUnlock) == .queued)
        #expect(try await put("straight", "b", in: session, class: .afterFirstUnlock) == .stored(version: 1))
        try await unlock(session)
        #expect(try await value(session) == "two")
        #expect(try await session.tokens.info(for: id())?.version == 2)
        // An item of a locked class in the keyring holds a value of an open one up as well.
        #expect(try await put("three", in: session) == .stored(version: 3))
        session.lock()
        #expect(try await put("four", in: session, class: .afterFirstUnlock) == .queued)
        try await unlock(session)
        #expect(try await value(session) == "four")
    }

    @Test("Removing a token also removes its pending values")
    func removingTakesWhatWaits() async throws {
        let home = try TestHome()
        _ = try await home.create(Self.passcode)
        let session = try await home.open()
        #expect(try await put("one", in: session) == .queued)
        #expect(try await put("other", "b", in: session) == .queued)
        #expect(await refusal { try await session.tokens.remove(id(), ifVersion: 0) }?.code == .locked)
        #expect(try await session.tokens.remove(id()))
        #expect(try await !session.tokens.remove(id()))
        try await unlock(session)
        #expect(try await session.tokens.list().map(\.id.account) == ["b"])
    }

    /// A home with the value "good", unlocked, and a value of a stranger to it that waits for a decision.
    private func undecided() async throws -> (home: TestHome, owner: Vault) {
        let home = try TestHome()
        let owner = try await home.create(Self.passcode)
        #expect(try await put("good", in: owner) == .stored(version: 1))
        let stranger = try await home.open()
        #expect(try await put("new", in: stranger) == .queued)
        #expect(try await owner.tokens.pending().count == 1)
        return (home, owner)
    }

    @Test("A removal with a version that cannot be compared or is not stored removes no pending value")
    func aConflictRemovesNothing() async throws {
        let (home, owner) = try await undecided()
        for stale: UInt64 in [0, 2, .max] {
            let error = await refusal { try await owner.tokens.remove(id(), ifVersion: stale) }
            #expect(error?.code == .conflict && error?.currentVersion == 1)
        }
        owner.lock()
        #expect(await refusal { try await owner.tokens.remove(id(), ifVersion: 1) }?.code == .locked)
        #expect(inbox(home).count == 1)
        try await unlock(owner)
        #expect(try await owner.tokens.pending().count == 1)
        #expect(try await value(owner) == "good")
        #expect(try await owner.tokens.remove(id(), ifVersion: 1))
        #expect(inbox(home).isEmpty)
        #expect(try await value(owner) == nil)
    }

    @Test("A removal with a version removes no pending value if nothing is stored")
    func aVersionOfNothingRemovesNothing() async throws {
        let (home, owner) = try await undecided()
        // An ephemeral token takes the stored one's place, and the lock removes it.
        try await owner.tokens.put(Token(copying: "brief"), for: id(), isEphemeral: true)
        owner.lock()
        try await unlock(owner)
        let error = await refusal { try await owner.tokens.remove(id(), ifVersion: 1) }
        #expect(error?.code == .conflict && error?.currentVersion == nil)
        #expect(inbox(home).count == 1)
        #expect(try await owner.tokens.remove(id()))
        #expect(inbox(home).isEmpty)
        #expect(try await !owner.tokens.remove(id(), ifVersion: 1))
    }

    @Test("A locked session does not compare versions")
    func aVersionIsComparedOnlyWhileUnlocked() async throws {
        let home = try TestHome()
        _ = try await home.create(Self.passcode)
        let session = try await home.open()
        let error = await refusal {
            try await session.tokens.put(Token(copying: "x"), for: id(), precondition: .absent)
        }
        #expect(error?.code == .locked)
        #expect(inbox(home).isEmpty)
    }

    @Test("Damaged pending tokens are counted and do not affect the others")
    func damageIsSaidAndTakesNoOtherWithIt() async throws {
        let home = try TestHome()
        _ = try await home.create(Self.passcode)
        let session = try await home.open()
        for number in 0..<6 { #expect(try await put("value \(number)", "\(number)", in: session) == .queued) }
        let names = inbox(home)
        #expect(names.count == 6)
        // A flipped bit; cut short; empty; another's bytes; a number that it was not stored under.
        var bytes = try home.read("inbox/" + names[0])
        bytes[100] ^= 1
        try home.write("inbox/" + names[0], bytes)
        try home.write("inbox/" + names[1], Array(bytes.prefix(80)))
        try home.write("inbox/" + names[2], [])
        try home.write("inbox/" + names[3], home.read("inbox/" + names[4]))
        try await unlock(session)
        #expect(try await session.tokens.list().map(\.id.account) == ["4", "5"])
        let waiting = PendingTokenCount(pending: 0, corrupt: 4)
        #expect(try await session.tokens.pendingTokens() == waiting)
        #expect(try await session.status().corruptTokens == 4)
        #expect(inbox(home).allSatisfy { $0.hasPrefix("damaged-") })
        session.lock()
        #expect(try await put("new", "0", in: session) == .queued)
        try await unlock(session)
        #expect(try await value(session, "0") == "new")
        #expect(try await session.tokens.removeCorruptPendingTokens() == 4)
        #expect(inbox(home).isEmpty)
    }

    /// An attacker who can write the vault cannot insert a value without the device key, nor one sealed to
    /// another class.
    @Test("A box sealed to another class is damaged")
    func aBoxForAnotherClassOrNameIsDamaged() async throws {
        let home = try TestHome()
        let owner = try await home.create(Self.passcode)
        let core = owner.core
        let keybag = try core.readKeybag()
        let key = try #require(keybag.publicKeys[.whenUnlocked])
        let name = try owner.tokens.name(of: id())
        let info = TokenInfo(
            id: try id(), version: nil, protection: .whenUnlockedThisDeviceOnly, stored: Date(), expires: nil,
            scopes: [], attributes: [:])
        let vault = try core.home.openVault()
        try core.pendingTokens.add(in: vault) { (number) throws(CofferError) in
            try PendingToken.seal(
                Token(copying: "forged"), info: info, tokenKey: SecretBytes.random(count: 32), number: number,
                to: PendingToken.Destination(
                    name: name, publicKey: key, vaultID: core.device.vaultID, ticket: nil))
        }
        #expect(try await owner.tokens.list().isEmpty)
        #expect(try await owner.tokens.pendingTokens() == PendingTokenCount(pending: 0, corrupt: 1))
    }

    @Test("The inbox has a limited size")
    func itsSizeIsBounded() async throws {
        let home = try TestHome()
        _ = try await home.create(Self.passcode)
        let session = try await home.open()
        let long = [UInt8](repeating: 7, count: Token.maxByteCount)
        var stored = 0
        while await refusal({
            try await session.tokens.put(Token(copying: long), for: id("\(stored)"))
        })?.code != .noSpace {
            stored += 1
            try #require(stored < 20)
        }
        #expect(stored == 15)
        let error = await refusal { _ = try await put("short", in: session) }
        #expect(error == nil)
        try await unlock(session)
        #expect(try await session.tokens.count() == 16)
        let size = try await session.tokens.withToken(for: id("0")) { token, _ in token.count }
        #expect(size == long.count)
    }

    @Test("Values of the passcode-bound class wait only where a passcode is set")
    func theClassThatNeedsAPasscodeWaitsOnlyWhereOneIsSet() async throws {
        let home = try TestHome()
        let session = try await home.create()
        session.lock()
        let error = await refusal {
            _ = try await put("x", in: session, class: .whenPasscodeSetThisDeviceOnly)
        }
        #expect(error?.code == .refused)
        try await session.changePasscode(to: Passcode(copying: Self.passcode), current: nil)
        session.lock()
        #expect(try await put("x", in: session, class: .whenPasscodeSetThisDeviceOnly) == .queued)
        let bound = PasscodeDependentItems(tokens: 1, files: 0, databases: 0)
        #expect(try await session.passcodeDependentItems() == bound)
        let destroyed = try await session.changePasscode(to: nil, current: Passcode(copying: Self.passcode))
        #expect(destroyed == PasscodeDependentItems(tokens: 1, files: 0, databases: 0))
        #expect(inbox(home).isEmpty)
    }

    @Test("A wipe removes pending values")
    func aWipeTakesWhatWaits() async throws {
        let home = try TestHome()
        _ = try await home.create(Self.passcode)
        let session = try await home.open()
        #expect(try await put("one", in: session) == .queued)
        _ = try await session.wipe()
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
        #expect(await refusal { _ = try await put("two", in: session) }?.code == .wiped)
    }
}
