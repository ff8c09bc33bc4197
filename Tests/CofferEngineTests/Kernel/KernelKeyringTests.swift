import CofferBase
import CofferEngine
import Foundation
import Testing
import TestSupport

/// Whether this kernel has a keyring and lets us use it.
private let hasKeyring: Bool = {
    let name = "coffer-test-probe-\(UUID().uuidString)"
    guard let secret = try? GuardedBytes.random(count: 1),
        (try? KernelKeyring.store(secret, description: name, timeout: 60)) != nil
    else { return false }
    return (try? KernelKeyring.remove(name)) == true
}()

@Suite("Kernel keyring")
struct KernelKeyringTests {
    private let name = "coffer-test-\(UUID().uuidString)"

    private func store(_ bytes: [UInt8], timeout: Int?) throws {
        let secret = try GuardedBytes.copying(bytes.span)
        try KernelKeyring.store(secret, description: name, timeout: timeout)
    }

    private func read() throws -> [UInt8]? {
        let secret = try KernelKeyring.read(name)
        switch secret {
        case .some(let secret): return secret.span.copied()
        case .none: return nil
        }
    }

    /// The remaining time of the key as the kernel shows it, such as `59s` or `perm`; `nil` without the key.
    private func timeLeft() throws -> String? {
        let keys = try Helper.run(["cat", "/proc/keys"]).output
        let line = keys.split(separator: "\n").first { $0.contains(name) }
        return line.map { String($0.split(separator: " ")[3]) }
    }

    @Test(
        "The keyring keeps, replaces and removes a key",
        .enabled(if: hasKeyring, "this kernel has no keyring for us"))
    func keepsReplacesAndRemoves() throws {
        defer { _ = try? KernelKeyring.remove(name) }
        #expect(try read() == nil)
        #expect(try KernelKeyring.remove(name) == false)
        try store(.counting(32), timeout: 60)
        #expect(try read() == .counting(32))
        try store(.counting(48, from: 7), timeout: 60)
        #expect(try read() == .counting(48, from: 7))
        #expect(try KernelKeyring.remove(name))
        #expect(try read() == nil)
    }

    @Test(
        "The kernel counts a key's time-out, and a refresh starts it again",
        .enabled(if: hasKeyring, "this kernel has no keyring for us"))
    func theKernelCountsTheTime() throws {
        defer { _ = try? KernelKeyring.remove(name) }
        try store([1], timeout: nil)
        #expect(try timeLeft() == "perm")
        try KernelKeyring.refresh(name, timeout: 3600)
        #expect(try timeLeft() != "perm")
        #expect(try timeLeft() != nil)
        #expect(try read() == [1])
        _ = try KernelKeyring.remove(name)
        try store([2], timeout: 3600)
        #expect(try timeLeft() != "perm")
        // Nothing to refresh is not an error.
        _ = try KernelKeyring.remove(name)
        try KernelKeyring.refresh(name, timeout: 60)
        #expect(try read() == nil)
    }

    @Test(
        "An update through a former key leaves its successor unchanged",
        .enabled(if: hasKeyring, "this kernel has no keyring for us"))
    func aNewKeyIsAnother() throws {
        defer { _ = try? KernelKeyring.remove(name) }
        try store([1], timeout: 3600)
        let former = try #require(try KernelKeyring.key(name))
        try store([2], timeout: 60)
        let key = try #require(try KernelKeyring.key(name))
        #expect(key != former)
        let late = try GuardedBytes.copying([3].span)
        try former.update(late, timeout: 3600)
        #expect(try read() == [2])
        #expect(try #require(KernelKeys.secondsLeft(name)) <= 60)
        // The same without a change in between.
        try key.update(late, timeout: 3600)
        #expect(try read() == [3])
        try key.invalidate()
        try key.update(late, timeout: 3600)
        #expect(try read() == nil)
    }

    @Test(
        "Another process of the user sees the key",
        .enabled(if: hasKeyring, "this kernel has no keyring for us"))
    func anotherProcessFindsIt() throws {
        defer { _ = try? KernelKeyring.remove(name) }
        try store([1, 2, 3], timeout: 60)
        let keys = try Helper.run(["cat", "/proc/keys"]).output
        #expect(keys.contains(name))
    }

    /// The kernel would take 0, and 2^32, for "never".
    @Test(
        "The keyring refuses time-outs that the kernel would take for \"never\"",
        arguments: [0, -1, 1 << 31, 1 << 32, Int.max, Int.min])
    func refusesTimeoutsThatWouldNeverEnd(timeout: Int) throws {
        #expect(failure { try store([1], timeout: timeout) } == .invalidInput)
        #expect(failure { try KernelKeyring.refresh(name, timeout: timeout) } == .invalidInput)
        if hasKeyring { #expect(try read() == nil) }
    }
}
