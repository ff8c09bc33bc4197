import Coffer
import CofferEngine
import Foundation
import SystemPackage
import TestSupport

/// A home whose administrator's policy a test sets.
final class ManagedHome: Sendable {
    let home: TestHome
    let location: VaultLocation
    private let root: ScratchDirectory

    init(_ policy: String? = nil) throws {
        let home = try TestHome()
        let root = try ScratchDirectory.make()
        try root.descriptor.setPermissions(0o755)
        var location = home.location
        location.policyDirectory = PolicyDirectory(
            below: root.path, components: ["policy.d"], owner: try root.descriptor.status().owner)
        self.home = home
        self.location = location
        self.root = root
        if let policy { try set(policy) }
    }

    /// Sets the policy, as JSON.
    func set(_ policy: String) throws {
        if try root.descriptor.status(of: "policy.d") == nil { try root.descriptor.makeDirectory("policy.d") }
        let folder = try root.descriptor.open("policy.d", [.read, .directory])
        try folder.replace("10.json", with: Array(policy.utf8).span, permissions: 0o644)
    }

    /// Removes the policy.
    func clear() throws { try FileManager.default.removeItem(atPath: root.path(of: "policy.d")) }

    func create(
        _ passcode: String? = nil, clock: VaultClock = .system,
        _ change: (inout VaultOptions) -> Void = { _ in }
    ) async throws -> Vault {
        let passcode = try passcode.map { try Passcode(copying: $0) }
        return try await Vault.create(
            at: location, options: TestHome.options(change), passcode: passcode, clock: clock)
    }

    func open(clock: VaultClock = .system) async throws -> Vault {
        try await Vault(at: location, clock: clock)
    }

    func unlocked(_ passcode: String? = nil, clock: VaultClock = .system) async throws -> Vault {
        let vault = try await open(clock: clock)
        try await vault.unlock(with: passcode.map { try Passcode(copying: $0) })
        return vault
    }
}
