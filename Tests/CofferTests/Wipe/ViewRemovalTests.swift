@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// Views that a process left which was killed, under a runtime directory that this process does not have.
@Suite(
    "Views under other runtime directories",
    .enabled(if: ViewCopyDirectory.hasSharedMemory, "there is no /dev/shm"))
struct ViewRemovalTests {
    private let manager = FileManager.default

    /// A directory in memory that looks like a runtime directory.
    private func withRuntime(_ body: (String) async throws -> Void) async throws {
        let runtime = "/dev/shm/coffer-test-\(UUID().uuidString)"
        try manager.createDirectory(
            atPath: runtime, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? manager.removeItem(atPath: runtime) }
        try await body(runtime)
    }

    /// A home with a file, of which a process that was killed left a view.
    private func left(under runtime: String) async throws -> (home: TestHome, view: String) {
        let (home, view, agent) = try await viewed(under: runtime)
        agent.kill()
        _ = agent.end()
        #expect(manager.contents(atPath: view) == Data("a letter".utf8))
        return (home, view)
    }

    /// A home with a file that a process views.
    private func viewed(
        under runtime: String
    ) async throws -> (home: TestHome, view: String, agent: Helper) {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("letter.txt", Array("a letter".utf8))
        let id = try await session.files.add(contentsOf: home.scratch.path.appending("letter.txt"))
        let agent = try #require(
            Agent.start(
                ["view-and-wait", home.location.path.string, "\(id)"],
                environment: ["XDG_RUNTIME_DIR=\(runtime)"]))
        return (home, try #require(agent.line()), agent)
    }

    @Test("A wipe under another runtime directory removes the vault's views and no others")
    func wiped() async throws {
        try await withRuntime { runtime in
            let (other, kept, agent) = try await viewed(under: runtime)
            let (home, view) = try await left(under: runtime)
            #expect(view.hasPrefix(runtime) && kept.hasPrefix(runtime))
            let receipt = try await Vault.wipe(at: home.location)
            // Or more: a copy of another test, on its way out and without a lease already, counts with it.
            #expect(try #require(receipt.removed["viewCopies"]) >= 1)
            #expect(!manager.fileExists(atPath: view) && manager.fileExists(atPath: kept))
            // Also one that is in use.
            _ = try await Vault.wipe(at: other.location)
            #expect(!manager.fileExists(atPath: kept))
            agent.kill()
        }
    }

    @Test("An opening under another runtime directory removes views of dead owners")
    func reaped() async throws {
        try await withRuntime { runtime in
            let (home, view) = try await left(under: runtime)
            let session = try await home.open()
            #expect(!manager.fileExists(atPath: view))
            _ = try await session.wipe()
        }
    }

    @Test("A wipe finds views in /dev/shm without a record or with a damaged one")
    func shared() async throws {
        for damage in [Data?.none, Data("coffer-../../tmp".utf8), Data(count: 100)] {
            let (home, view) = try await left(under: "")
            #expect(view.hasPrefix("/dev/shm/coffer-"))
            try home.remove("viewroot")
            if let damage { try damage.write(to: URL(filePath: home.path("viewroot").string)) }
            let receipt = try await Vault.wipe(at: home.location)
            #expect(try #require(receipt.removed["viewCopies"]) >= 1)
            #expect(!manager.fileExists(atPath: view))
        }
    }

    @Test("A wipe removes views even after a directory's mode was changed", arguments: [0o750, 0o000])
    func modes(_ mode: Int) async throws {
        try await withRuntime { runtime in
            let (home, view) = try await left(under: runtime)
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: runtime + "/coffer/views")
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: runtime + "/coffer")
            #expect(try await Vault.wipe(at: home.location).failures.isEmpty)
            #expect(!manager.fileExists(atPath: view))
        }
        let (home, view) = try await left(under: "")
        let root = view.split(separator: "/").prefix(3).map { "/" + $0 }.joined()
        #expect(root.hasPrefix("/dev/shm/coffer-"))
        try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: root)
        #expect(try await Vault.wipe(at: home.location).failures.isEmpty)
        #expect(!manager.fileExists(atPath: view))
    }

    @Test("A wipe touches nothing where others may write, and the receipt names the place")
    func writable() async throws {
        try await withRuntime { runtime in
            let (home, view) = try await left(under: runtime)
            try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: runtime + "/coffer/views")
            let unverified = try await Vault.wipe(at: home.location).unverified
            #expect(unverified.contains { $0.contains(runtime) })
            #expect(manager.fileExists(atPath: view))
        }
        let (home, view) = try await left(under: "")
        let root = view.split(separator: "/").prefix(3).map { "/" + $0 }.joined()
        defer { try? manager.removeItem(atPath: root) }
        try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: root)
        let unverified = try await Vault.wipe(at: home.location).unverified
        #expect(unverified.contains { $0.contains(root) })
    }

    @Test("The receipt of the home names places that a namespace's wipe cannot prove")
    func namespace() async throws {
        try await withRuntime { runtime in
            let home = try TestHome()
            let session = try await home.create()
            let inside = try await Vault.create(
                at: home.location.namespace(of: "ada"), options: TestHome.options(), passcode: nil)
            try home.scratch.write("letter.txt", Array("a letter".utf8))
            let id = try await inside.files.add(contentsOf: home.scratch.path.appending("letter.txt"))
            let agent = try #require(
                Agent.start(
                    ["view-and-wait", home.location.namespace(of: "ada").path.string, "\(id)"],
                    environment: ["XDG_RUNTIME_DIR=\(runtime)"]))
            _ = try #require(agent.line())
            agent.kill()
            _ = agent.end()
            try manager.moveItem(atPath: runtime, toPath: runtime + "-elsewhere")
            defer { try? manager.removeItem(atPath: runtime + "-elsewhere") }
            #expect(try await session.wipe().unverified.contains { $0.contains(runtime) })
        }
    }

    @Test(
        "A view that resists does not protect the others",
        .enabled(if: TestUser.isRoot, "only root can mount something that cannot be removed"))
    func resisting() async throws {
        try await withRuntime { runtime in
            let (home, view) = try await left(under: runtime)
            let views = runtime + "/coffer/views/"
            let names = ["0", "f"].map { String(repeating: $0, count: 32) }
            for name in names {
                try manager.createDirectory(atPath: views + name + "/file", withIntermediateDirectories: true)
                try Data("plain".utf8).write(to: URL(filePath: views + name + "/file/x"))
            }
            let mounts = names.map { views + $0 + "/file/mounted" }
            for mount in mounts {
                try manager.createDirectory(atPath: mount, withIntermediateDirectories: false)
                #expect(try CommandRun.run("mount", ["-t", "tmpfs", "tmpfs", mount]).code == 0)
            }
            func unmount() { for mount in mounts { _ = try? CommandRun.run("umount", [mount]) } }
            defer { unmount() }
            _ = try? await Vault.removeStaleViewCopies(at: home.location)
            #expect(!manager.fileExists(atPath: view))
            for name in names { #expect(!manager.fileExists(atPath: views + name + "/file/x")) }
            unmount()
            _ = try await Vault.wipe(at: home.location)
        }
    }

    @Test("The receipt names a runtime directory that no longer exists")
    func gone() async throws {
        try await withRuntime { runtime in
            let (home, _) = try await left(under: runtime)
            try manager.moveItem(atPath: runtime, toPath: runtime + "-elsewhere")
            defer { try? manager.removeItem(atPath: runtime + "-elsewhere") }
            let receipt = try await Vault.wipe(at: home.location)
            #expect(receipt.unverified.contains { $0.contains(runtime) })
            #expect(receipt.failures.isEmpty)
        }
    }

    @Test("The receipt names a view whose lease has another vault's identifier")
    func changedLease() async throws {
        try await withRuntime { runtime in
            let (home, view) = try await left(under: runtime)
            // <view>/<directory>/<name>
            let folder = ((view as NSString).deletingLastPathComponent as NSString).deletingLastPathComponent
            let other = try VaultID.random()
            try Data(other.bytes).write(to: URL(filePath: folder + "/lease"))
            let vault = VaultHandle(try Descriptor.open(home.path(""), [.read, .directory]))
            let known = ViewRemoval(of: [], vault: vault, others: [other])
            #expect(!known.unseen.contains { $0.name == folder })
            let receipt = try await Vault.wipe(at: home.location)
            #expect(receipt.unverified.contains { $0.contains(folder) && $0.contains("\(other)") })
            #expect(receipt.failures.isEmpty && manager.fileExists(atPath: view))
        }
    }

    @Test("A wipe follows the record only to places where views of this vault can be")
    func hints() async throws {
        try await withRuntime { trap in
            let home = try TestHome()
            let session = try await home.create()
            let views = trap + "/coffer/views"
            let letter = views + "/0123456789abcdef0123456789abcdef/letter"
            try manager.createDirectory(
                atPath: (letter as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data([1]).write(to: URL(filePath: letter))
            // Of another vault, and in a directory that others may enter.
            try Data(VaultID.random().bytes).write(
                to: URL(filePath: views + "/0123456789abcdef0123456789abcdef/lease"))
            let disk = try ScratchDirectory.make()
            try home.write("viewroots", Array("\(trap)\0relative\0\(disk.path)\0\0/\0\(trap)/".utf8))
            for mode in [0o700, 0o777] {
                try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: trap + "/coffer")
                try manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: views)
                let record = try ViewRootRecord(in: session.core.home.openVault())
                #expect(record.runtimes.count == 4)
                let removal = ViewRemoval(
                    of: [session.vaultID], vault: VaultHandle(try session.core.home.openVault()))
                #expect(removal.remaining.isEmpty && manager.fileExists(atPath: letter))
                let strangers = removal.unseen.filter {
                    $0.reason.code == .foreign && $0.name.hasPrefix(trap)
                }
                #expect(strangers.count == (mode == 0o700 ? 1 : 0))
                let named = removal.unseen.filter { $0.reason.code != .foreign }.map(\.name)
                #expect(named.contains(trap) == (mode == 0o777))
                #expect(named.contains(disk.path.string) == !disk.isInMemory)
            }
            _ = try await session.wipe()
            #expect(manager.fileExists(atPath: letter))
        }
    }

    @Test("The record forgets runtime directories that are gone, and keeps at most 32")
    func many() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let vault = try session.core.home.openVault()
        var record = ViewRootRecord(in: vault)
        for number in 0..<32 {
            try record.note(runtime: FilePath("/nowhere/\(number)"), in: vault) { _ in false }
        }
        try record.note(runtime: "/nowhere/7", in: vault) { _ in false }
        #expect(ViewRootRecord(in: vault).runtimes.count == 32)
        #expect(
            failure { try record.note(runtime: "/nowhere/32", in: vault) { _ in false } } == .refused)
        try record.note(runtime: "/nowhere/32", in: vault) { $0 != "/nowhere/7" }
        #expect(ViewRootRecord(in: vault).runtimes == ["/nowhere/7", "/nowhere/32"])
    }
}

extension ScratchDirectory {
    fileprivate var isInMemory: Bool { (try? FileSystemInfo.of(descriptor).isMemory) == true }
}
