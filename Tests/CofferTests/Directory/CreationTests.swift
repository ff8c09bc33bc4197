import Coffer
import CofferBase
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Creation of a home")
struct CreationTests {
    @Test("A new home opens with its passcode and keeps its identifier")
    func aNewHomeOpens() async throws {
        let home = try TestHome()
        let made = try await home.create("correct horse")
        #expect(made.isUnlocked)
        let session = try await home.open()
        #expect(session.vaultID == made.vaultID)
        #expect(!session.isUnlocked)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        #expect(session.isUnlocked)
        let id = session.vaultID.description
        #expect(
            id.wholeMatch(of: /[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/) != nil)
    }

    @Test("Only the owner can access the files of a home, and none has the passcode")
    func everythingIsForItsOwnerAlone() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        for name in [
            "", "lock", "state", "vault", "vault/device", "vault/keybag", "vault/attempts", "vault/tokens",
            "vault/files",
        ] {
            let path = home.location.path.string + "/" + name
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            let mode = attributes[.posixPermissions] as? Int ?? -1
            #expect(mode & 0o077 == 0, "\(name) has mode \(String(mode, radix: 8))")
        }
        #expect(try home.occurrences(of: Array("correct horse".utf8)) == 0)
    }

    @Test("A second creation is refused and changes nothing")
    func aSecondCreateIsRefusedAndChangesNothing() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let before = try home.everything()
        let error = await refusal { _ = try await home.create("another") }
        #expect(error?.code == .alreadyExists)
        #expect(try home.everything() == before)
        _ = try await home.unlocked("correct horse")
    }

    @Test("An absent or empty home counts as not initialised")
    func anAbsentHomeIsNotInitialised() async throws {
        let home = try TestHome()
        #expect(await refusal { _ = try await home.open() }?.code == .notInitialised)
        #expect(!FileManager.default.fileExists(atPath: home.location.path.string))
        try FileManager.default.createDirectory(
            atPath: home.location.path.string, withIntermediateDirectories: false)
        #expect(await refusal { _ = try await home.open() }?.code == .notInitialised)
        let status = try await Vault.status(at: home.location)
        #expect(status.state == .uninitialised)
    }

    @Test("Missing parent directories are made for this user alone")
    func missingParentsAreMade() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("a/b/c"))
        _ = try await Vault.create(at: location, options: TestHome.options(), passcode: nil)
        _ = try await Vault(at: location)
        for name in ["a", "a/b", "a/b/c"] {
            let path = scratch.path.appending(name).string
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o700, "\(name)")
        }
    }

    @Test("A file in the home's place is refused and left as it is")
    func aFileInTheHomesPlaceIsRefused() async throws {
        let home = try TestHome()
        try home.scratch.write("home", [1, 2, 3])
        #expect(await refusal { _ = try await home.open() }?.code == .refused)
        #expect(await refusal { _ = try await home.create() }?.code == .refused)
        #expect(try home.scratch.read("home") == [1, 2, 3])
    }

    @Test("A directory that others can write is refused", arguments: [0o770, 0o722, 0o777])
    func aDirectoryThatOthersCanWriteIsRefused(mode: Int) async throws {
        let home = try TestHome()
        _ = try await home.create()
        let path = home.location.path.string
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        #expect(await refusal { _ = try await home.open() }?.code == .refused)
        let other = try TestHome()
        try FileManager.default.createDirectory(
            atPath: other.location.path.string, withIntermediateDirectories: false,
            attributes: [.posixPermissions: mode])
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: other.location.path.string)
        #expect(await refusal { _ = try await other.create() }?.code == .refused)
    }

    @Test("A wiped home accepts no new vault while a user's vault lives in it, and vice versa")
    func livingNamespace() async throws {
        let home = try TestHome()
        _ = try await home.create()
        let inside = try home.location.namespace(of: "ada")
        let session = try await Vault.create(at: inside, options: TestHome.options(), passcode: nil)
        let id = try TokenID(service: "s", account: "a")
        try await session.tokens.put(Token(copying: "value"), for: id)
        // As if a user had restored the namespace after the wipe.
        let aside = home.scratch.path(of: "aside")
        try FileManager.default.copyItem(atPath: inside.path.string, toPath: aside)
        _ = try await Vault.wipe(at: home.location)
        try FileManager.default.removeItem(atPath: inside.path.string)
        #expect(
            await refusal {
                _ = try await Vault.create(at: inside, options: TestHome.options(), passcode: nil)
            }?.code == .wiped)
        try FileManager.default.copyItem(atPath: aside, toPath: inside.path.string)
        let before = try home.everything()
        #expect(await refusal { _ = try await home.create() }?.code == .alreadyExists)
        #expect(try home.everything() == before)
        _ = try await Vault.wipe(at: inside)
        _ = try await home.create()
    }

    @Test(
        "A directory of another owner is refused",
        .enabled(if: TestUser.isRoot, "only root can give a directory away"))
    func aDirectoryOfSomebodyElseIsRefused() async throws {
        let home = try TestHome()
        _ = try await home.create()
        try FileManager.default.setAttributes(
            [.ownerAccountID: TestUser.nobody], ofItemAtPath: home.location.path.string)
        #expect(await refusal { _ = try await home.open() }?.code == .refused)
        #expect(await refusal { _ = try await home.create() }?.code == .refused)
    }

    @Test("The next creation removes the remains of an interrupted one")
    func whatAnInterruptedCreationLeftIsCleanedByTheNext() async throws {
        let home = try TestHome()
        let other = try TestHome()
        _ = try await other.create()
        let manager = FileManager.default
        try manager.createDirectory(atPath: home.location.path.string, withIntermediateDirectories: false)
        try manager.copyItem(
            atPath: other.location.path.appending("vault").string, toPath: home.homePath(".init-left").string)
        #expect(await refusal { _ = try await home.open() }?.code == .notInitialised)
        _ = try await home.create()
        #expect(!manager.fileExists(atPath: home.homePath(".init-left").string))
        _ = try await home.open()
    }

    /// The state record is there before the vault: a crash in between leaves a home that was never made.
    @Test("A state record without a vault counts as not initialised")
    func aStateWithoutAVaultIsNotInitialised() async throws {
        let home = try TestHome()
        _ = try await home.create()
        try FileManager.default.moveItem(
            atPath: home.location.path.appending("vault").string, toPath: home.scratch.path(of: "aside"))
        #expect(await refusal { _ = try await home.open() }?.code == .notInitialised)
        _ = try await home.create()
        _ = try await home.open()
    }

    @Test("A creation that was interrupted while writing the state can be repeated")
    func aCreationCutShortWhileItWroteTheStateIsRepeated() async throws {
        let home = try TestHome()
        try FileManager.default.createDirectory(
            atPath: home.location.path.string, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        try Data().write(to: URL(filePath: home.homePath(".tmp-00").string))
        _ = try await home.create()
        #expect(!FileManager.default.fileExists(atPath: home.homePath(".tmp-00").string))
        #expect(try home.everything()["state"]?.count == 512)
    }

    @Test("An inactivity limit out of range is refused")
    func impossibleInactivityIsRefused() async throws {
        let home = try TestHome()
        for inactivity in [Duration.zero, .milliseconds(999), .seconds(-1), .seconds(1 << 33)] {
            let options = TestHome.options { $0.inactivity = inactivity }
            #expect(await refusal { _ = try await home.create(options: options) }?.code == .invalidInput)
        }
    }

    @Test("Four concurrent creations make one home")
    func twoAtOnceMakeOneHome() async throws {
        let home = try TestHome()
        let codes = await withTaskGroup(of: CofferError.Code?.self) { group in
            for _ in 0..<4 {
                group.addTask { await refusal { _ = try await home.create() }?.code }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == nil } == 1)
        #expect(codes.count { $0 == .alreadyExists } == 3)
        _ = try await home.open()
    }
}
