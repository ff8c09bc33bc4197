@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Renaming files")
struct RenameTests {
    private static let content = Array("the content".utf8)

    private func make(context: [UInt8] = []) async throws -> (home: TestHome, vault: Vault, id: FileID) {
        let home = try TestHome()
        let vault = try await home.create()
        return (home, vault, try await vault.files.add(Self.content, name: "old", context: context))
    }

    /// The name everywhere that it is shown, as one vault sees it.
    private func names(_ vault: Vault, _ id: FileID, context: [UInt8] = []) async throws -> Set<String> {
        let listed = try await vault.files.list().first { $0.id == id }
        let info = try await vault.files.info(for: id, context: context)
        let viewed = try await vault.files.withViewCopy(of: id, context: context) {
            $0.lastComponent?.string
        }
        return [try #require(listed).name.string, info.name.string, try #require(viewed)]
    }

    private func container(_ id: FileID) -> String { "files/\(id).coffer" }

    @Test("A renamed file has its new name everywhere, and the same id, date and content")
    func renamed() async throws {
        let (home, vault, id) = try await make()
        let before = try await vault.files.info(for: id)
        let sealed = try home.read(container(id))
        for (number, name) in ["new", "new", "…", "-", "old"].enumerated() {
            try await vault.files.rename(id, to: try #require(FilePath.Component(name)))
            for vault in [vault, try await home.unlocked()] {
                #expect(try await names(vault, id) == [name])
                let bytes = try await vault.files.withDecryptedBytes(of: id) { $0.copied() }
                #expect(bytes == Self.content)
                try await vault.files.verify(id)
            }
            let slots = try home.read(container(id)).prefix(4096)
            #expect(slots.prefix(2048) == slots.suffix(2048))
            let slot = try ContainerHeaderSlot.decode(Array(slots.prefix(2048)))
            #expect(slot?.generation == UInt32(number + 2))
        }
        #expect(try await vault.files.info(for: id) == before)
        #expect(try home.read(container(id)).dropFirst(4096) == sealed.dropFirst(4096))
        // The container has the name, too.
        try await vault.files.rename(id, to: "kept")
        #expect(try await vault.files.reindex().isEmpty)
        #expect(try await names(vault, id) == ["kept"])
    }

    @Test("A name is never half changed: the index decides, whatever the container has")
    func crash() async throws {
        let (home, vault, id) = try await make()
        let (index, sealed) = (try home.read("fileindex"), try home.read(container(id)))
        try await vault.files.rename(id, to: "new")
        let (newIndex, newSealed) = (try home.read("fileindex"), try home.read(container(id)))
        // Between the two changes: the container has the new name, the index the old one.
        try home.write("fileindex", index)
        let first = try await home.unlocked()
        #expect(try await names(first, id) == ["old"])
        try await first.files.rename(id, to: "again")
        #expect(try await names(first, id) == ["again"])
        // Each of the slots is complete while the other is written.
        let garbage = [UInt8](repeating: 0xA5, count: 2048)
        let headers: [[UInt8]] = [
            Array(sealed[..<4096]), Array(sealed[..<2048] + newSealed[2048..<4096]),
            Array(newSealed[..<2048] + sealed[2048..<4096]), Array(newSealed[..<2048] + garbage),
        ]
        for header in headers {
            for (index, name) in [(index, "old"), (newIndex, "new")] {
                try home.write("fileindex", index)
                try home.write(container(id), header + newSealed[4096...])
                let vault = try await home.unlocked()
                #expect(try await names(vault, id) == [name])
                try await vault.files.rename(id, to: "healed")
                #expect(try await names(vault, id) == ["healed"])
            }
        }
    }

    @Test("Renaming needs the context, the class, the file and a name that can be stored")
    func refused() async throws {
        let (home, vault, id) = try await make(context: [1])
        for context in [[], [2]] as [[UInt8]] {
            let error = await refusal { try await vault.files.rename(id, to: "new", context: context) }
            #expect(error?.code == .corrupt)
        }
        let long = try #require(FileNameBytes.component([UInt8](repeating: 0x61, count: 256)))
        for name: FilePath.Component in ["..", ".", long] {
            let error = await refusal { try await vault.files.rename(id, to: name, context: [1]) }
            #expect(error?.code == .invalidInput)
        }
        let other = try FileID.random()
        #expect(await refusal { try await vault.files.rename(other, to: "new") }?.code == .absent)
        #expect(try await names(vault, id, context: [1]) == ["old"])
        try await vault.files.rename(id, to: "new", context: [1])
        #expect(try await names(vault, id, context: [1]) == ["new"])
        vault.lock()
        #expect(
            await refusal { try await vault.files.rename(id, to: "x", context: [1]) }?.code == .locked)
        #expect(try await names(home.unlocked(), id, context: [1]) == ["new"])
    }

    @Test("A container that was put back is not accepted by renaming it")
    func foreign() async throws {
        let (home, vault, id) = try await make()
        let sealed = try home.read(container(id))
        _ = try await vault.files.withEditableCopy(of: id) { copy in
            try Data("changed".utf8).write(to: URL(filePath: copy.path.string))
        }
        try home.write(container(id), sealed)
        let error = await refusal { try await home.unlocked().files.rename(id, to: "new") }
        #expect(error?.code == .corrupt)
    }

    @Test("A rename while the new content of an edit is sealed is kept")
    func whileSealed() async throws {
        let (home, vault, id) = try await make()
        let other = try await home.unlocked()
        try home.scratch.write("edited", Array("changed".utf8))
        let source = try Descriptor.open(home.scratch.path.appending("edited"), .read)
        let reader = try vault.files.open(id)
        let calls = Counter()
        try vault.files.replaceContent(of: reader, by: source, []) { () throws(CofferError) in
            calls.increment()
            guard calls.value == 1 else { return }
            try other.files.changeName(
                of: id, to: Array("new".utf8), [], BlockingExecutor.Cancellation())
        }
        let third = try await home.unlocked()
        #expect(try await names(third, id) == ["new"])
        let bytes = try await third.files.withDecryptedBytes(of: id) { $0.copied() }
        #expect(bytes == Array("changed".utf8))
        #expect(try await third.files.reindex().isEmpty)
        #expect(try await names(third, id) == ["new"])
    }

    @Test("A file that is renamed while it is edited has the new name and the new content")
    func whileEdited() async throws {
        let (home, vault, id) = try await make()
        _ = try await vault.files.withEditableCopy(of: id) { copy in
            try await home.unlocked().files.rename(id, to: "new")
            let file = try FileHandle(forWritingTo: URL(filePath: copy.path.string))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: Data("changed".utf8))
            try file.close()
        }
        let other = try await home.unlocked()
        #expect(try await names(other, id) == ["new"])
        let bytes = try await other.files.withDecryptedBytes(of: id) { $0.copied() }
        #expect(bytes == Array("changed".utf8))
        #expect(try await other.files.reindex().isEmpty)
        #expect(try await names(other, id) == ["new"])
    }
}
