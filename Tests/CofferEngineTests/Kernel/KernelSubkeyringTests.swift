import CofferBase
import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite(
    "Keyrings below the user's keyring",
    .enabled(if: KernelKeyring.isAvailable, "this kernel has no keyring for us"))
struct KernelSubkeyringTests {
    private let name = "coffer-test-ring-\(UUID().uuidString)"

    private func read(_ description: String) throws -> [UInt8]? {
        let secret = try KernelSubkeyring.find(name)?.read(description)
        switch secret {
        case .some(let secret): return secret.span.copied()
        case .none: return nil
        }
    }

    private func store(_ bytes: [UInt8], _ description: String) throws {
        let secret = try GuardedBytes.copying(bytes.span)
        try KernelSubkeyring.make(name).store(secret, description: description)
    }

    /// A search of the user's keys reads every one of them: it must not keep what it reads.
    @Test("Looking at every secret leaves none behind", .enabled(if: OwnMemory.isReadable))
    func searchLeavesNothing() async {
        await #expect(processExitsWith: .success) {
            let name = "coffer-test-search-\(UUID().uuidString)"
            defer { _ = try? KernelKeyring.remove(name) }
            var complement = [UInt8](repeating: 0, count: 109)
            func store() throws {
                let secret = try GuardedBytes.random(count: complement.count)
                for index in complement.indices { complement[index] = ~secret.span[index] }
                try KernelKeyring.store(secret, description: name, timeout: 600)
            }
            try store()
            // The kernel took it out of guarded memory, and nothing else has it.
            let ends = [Array(complement.prefix(8)), Array(complement.suffix(8))]
            #expect(try OwnMemory.count(complementsOf: ends) == 0)
            var found = 0
            try KernelSubkeyring.forEachSecretOfUser { description, secret in
                if description == name, secret.count == 109 { found += 1 }
            }
            #expect(found == 1)
            #expect(try OwnMemory.count(complementsOf: ends) == 0)
        }
    }

    @Test("A keyring keeps, replaces, lists and removes keys under any description")
    func keepsReplacesListsAndRemoves() throws {
        defer { _ = try? KernelSubkeyring.remove(name) }
        #expect(try KernelSubkeyring.find(name) == nil)
        #expect(try KernelSubkeyring.remove(name) == false)
        try store([1], "first; with ; semicolons")
        try store(.counting(5000), "second")
        try store([2], "first; with ; semicolons")
        #expect(try read("first; with ; semicolons") == [2])
        #expect(try read("second") == .counting(5000))
        #expect(try read("third") == nil)
        let ring = try #require(try KernelSubkeyring.find(name))
        #expect(try ring.descriptions().sorted() == ["first; with ; semicolons", "second"])
        #expect(try ring.remove("second"))
        #expect(try ring.remove("second") == false)
        #expect(try read("second") == nil)
        #expect(try ring.descriptions() == ["first; with ; semicolons"])
    }

    @Test("Removing a keyring removes every key in it")
    func removedWithAllThatIsInIt() throws {
        defer { _ = try? KernelSubkeyring.remove(name) }
        try store([1], "first")
        let ring = try #require(try KernelSubkeyring.find(name))
        #expect(try KernelSubkeyring.remove(name))
        #expect(try read("first") == nil)
        #expect(failure { _ = try ring.descriptions() } != nil || (try? ring.descriptions()) == [])
        try store([2], "second")
        #expect(try read("first") == nil)
    }

    /// Names are bytes: what looks alike is another.
    @Test("The user's keys are removed by the bytes of their names, and look-alikes stay")
    func removesOfTheUserByName() throws {
        let secret = try GuardedBytes.copying([1].span)
        let names = ["\(name):a", "\(name):b\u{301}", "\(name):b", "\(name)"]
        defer { for name in names { _ = try? KernelKeyring.remove(name) } }
        defer { _ = try? KernelSubkeyring.remove("\(name):ring") }
        for name in names { try KernelKeyring.store(secret, description: name, timeout: 600) }
        try KernelSubkeyring.make("\(name):ring").store(secret, description: "inside")
        let prefix = Array("\(name):b".utf8)
        let removed = try KernelSubkeyring.removeOfUser { $0.starts(with: prefix) }
        #expect(removed.count == 2 && removed.remaining.isEmpty && removed.failures.isEmpty)
        #expect(try names.map(KernelKeyring.contains) == [true, false, false, true])
        let rest = Array("\(name):".utf8)
        #expect(try KernelSubkeyring.removeOfUser { $0.starts(with: rest) }.count == 2)
        #expect(try names.map(KernelKeyring.contains) == [false, false, false, true])
        #expect(try KernelSubkeyring.find("\(name):ring") == nil)
    }

    @Test("A keyring's time-out can be set and lifted, and an impossible one is refused")
    func theKernelCountsTheTime() throws {
        defer { _ = try? KernelSubkeyring.remove(name) }
        try store([1], "first")
        let ring = try KernelSubkeyring.make(name)
        #expect(KernelKeys.secondsLeft(name) == .max)
        try ring.setTimeout(3600)
        #expect(try #require(KernelKeys.secondsLeft(name)) <= 3600)
        try ring.setTimeout(nil)
        #expect(KernelKeys.secondsLeft(name) == .max)
        #expect(failure { try ring.setTimeout(0) } == .invalidInput)
        #expect(failure { try ring.setTimeout(1 << 32) } == .invalidInput)
        #expect(try read("first") == [1])
    }
}
