@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// Whether the tests' own directory is on an encrypted disk differs from machine to machine, so each test
/// expects what the disk below it allows.
@Suite("Vaults that require an encrypted disk")
struct DiskEncryptionTests {
    private let content: [UInt8] = [1]

    private func isEncrypted(_ home: TestHome) throws -> Bool {
        try StorageMedium.of(Descriptor.open(home.scratch.path, [.read, .directory])).isEncrypted == true
    }

    @Test("Every way to add a file is refused on a disk that is not known to be encrypted, and none is added")
    func additions() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let expected: CofferError.Code? = try isEncrypted(home) ? nil : .refused
        try home.scratch.write("note", Array("note".utf8))
        let path = home.scratch.path.appending("note")
        let before = try await vault.files.add(contentsOf: path)
        try await vault.changeSettings { $0.requiresDiskEncryption = true }
        let file = try Descriptor.open(path, .read)
        let number = file.number
        let errors = [
            await refusal { _ = try await vault.files.add(contentsOf: path) },
            await refusal { _ = try await vault.files.add(contentsOf: path, allowingExternalMedia: true) },
            await refusal { _ = try await vault.files.add(fromDescriptor: number, name: "a") },
            await refusal { _ = try await vault.files.add(content, name: "b") },
            await refusal { _ = try await vault.files.add(Data(content), name: "c") },
            await refusal { try await vault.files.checkDiskEncryption() },
        ]
        try file.close()
        for error in errors {
            #expect(error?.code == expected && error?.message.contains("dm-crypt") != false)
        }
        #expect(try await vault.files.count() == (expected == nil ? 6 : 1))
        // What is stored stays readable.
        let text = try await vault.files.withDecryptedBytes(of: before) { $0.copied() }
        #expect(text == Array("note".utf8))
        try await vault.changeSettings { $0.requiresDiskEncryption = false }
        _ = try await vault.files.add(content, name: "d")
    }

    @Test("A refused addition keeps the original")
    func original() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        guard try !isEncrypted(home) else { return }
        try await vault.changeSettings { $0.requiresDiskEncryption = true }
        try home.scratch.write("note", [1])
        let path = home.scratch.path.appending("note")
        let error = await refusal { _ = try await vault.files.add(contentsOf: path, removingOriginal: true) }
        #expect(error?.code == .refused)
        #expect(try home.scratch.read("note") == [1])
    }

    @Test(
        "An editable copy is refused before anything can be edited",
        .enabled(
            if: ViewCopyDirectory.hasRuntimeDirectory || ViewCopyDirectory.hasSharedMemory,
            "there is no memory file system"))
    func editing() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let id = try await vault.files.add(content, name: "note")
        try await vault.changeSettings { $0.requiresDiskEncryption = true }
        let isEncrypted = try isEncrypted(home)
        let error = await refusal {
            _ = try await vault.files.withEditableCopy(of: id) { _ in #expect(isEncrypted) }
        }
        #expect(error?.code == (isEncrypted ? nil : .refused))
        try await vault.files.withViewCopy(of: id) { _ in }
    }

    @Test("The requirement is set without the passcode, and lifted with it only")
    func passcodes() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let vault = try await home.open()
        #expect(try await !vault.status().requiresDiskEncryption)
        try await vault.changeSettings { $0.requiresDiskEncryption = true }
        #expect(try await vault.status().requiresDiskEncryption)
        let record = try home.read("keybag")
        let error = await refusal { try await vault.changeSettings { $0.requiresDiskEncryption = false } }
        #expect(try error?.code == .locked && home.read("keybag") == record)
        let passcode = try Passcode(copying: "correct horse")
        try await vault.changeSettings(passcode: passcode) { $0.requiresDiskEncryption = false }
        #expect(try await !home.open().settings().requiresDiskEncryption)
    }

    @Test("A change of the passcode keeps the requirement")
    func passcodeChange() async throws {
        let home = try TestHome()
        let vault = try await home.create("correct horse")
        try await vault.changeSettings { $0.requiresDiskEncryption = true }
        let (old, new) = (try Passcode(copying: "correct horse"), try Passcode(copying: "battery staple"))
        try await vault.changePasscode(to: new, current: old)
        #expect(try await home.unlocked("battery staple").settings().requiresDiskEncryption)
    }

    @Test(
        "The security check says whether the disk meets the requirement",
        arguments: [
            (.fixed, true, .ok), (.removable, true, .advisory), (.fixed, false, .missing),
            (.fixed, nil, .missing), (.network, nil, .missing), (.memory, nil, .missing),
        ] as [(StorageMedium.Medium, Bool?, SecurityCheck.Status)])
    func securityCheck(
        _ medium: StorageMedium.Medium, _ isEncrypted: Bool?, _ status: SecurityCheck.Status
    ) {
        let storage = StorageMedium(medium: medium, type: "", isEncrypted: isEncrypted)
        let check = Vault.disk(storage, isEncryptionRequired: true)
        let plain = Vault.disk(storage, isEncryptionRequired: false)
        #expect(check.name == "disk" && check.status == status)
        #expect(check.message.contains("settings require disk encryption"))
        #expect(check.message.contains("no files can be added") == (status == .missing))
        #expect(plain.status != .missing && !plain.message.contains("require"))
    }

    @Test("The requirement also holds in a user's namespace, whose own settings do not have it")
    func namespaces() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let inner = try await Vault.create(
            at: home.location.namespace(of: "ada"), options: TestHome.options(), passcode: nil)
        _ = try await inner.files.add(content, name: "before")
        try await vault.changeSettings { $0.requiresDiskEncryption = true }
        let isEncrypted = try isEncrypted(home)
        let error = await refusal { _ = try await inner.files.add(content, name: "after") }
        #expect(error?.code == (isEncrypted ? nil : .refused))
        #expect(try await inner.files.count() == (isEncrypted ? 2 : 1))
        #expect(try await !inner.settings().requiresDiskEncryption)
        #expect(try await inner.status().requiresDiskEncryption)
        let check = try await inner.securityChecks().first { $0.name == "disk" }
        #expect((check?.status == .missing) == !isEncrypted)
        #expect(check?.message.contains("require disk encryption") == true)
        try await vault.changeSettings { $0.requiresDiskEncryption = false }
        _ = try await inner.files.add(content, name: "later")
        #expect(try await !inner.status().requiresDiskEncryption)
    }

    @Test("The vault's own checks know the setting")
    func securityChecks() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        try await vault.changeSettings { $0.requiresDiskEncryption = true }
        let check = try await vault.securityChecks().first { $0.name == "disk" }
        #expect(try (check?.status == .missing) == !isEncrypted(home))
    }
}
