import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import CofferEnginePKCS11

/// The only command of the program `coffer-pkcs11`, which `coffer pkcs11 serve` runs.
struct PKCS11Root: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coffer-pkcs11",
        abstract: "Serve key pairs to a program by PKCS #11: run as coffer pkcs11 serve.",
        version: "coffer \(PackageVersion.current)")

    @OptionGroup var global: GlobalOptions

    /// Parses and runs the command, then exits with the code for the command's result.
    static func start(_ arguments: [String]) async -> Never { await ProgramStart.run(self, arguments) }

    func run() async throws {
        guard try !Descriptor.standardInput().isTerminal else {
            throw CofferError(
                .invalidInput,
                "p11-kit starts this command for programs that use keys. To have it do so, run coffer pkcs11 "
                    + "install.")
        }
        try StartRoom.requireThreads()
        let token = VaultToken(
            openVault: Self.opener(global), confirm: { AskPass.isConfirmed(Self.question($0)) },
            report: { Output.message("coffer: \($0.advice)") })
        try await BlockingExecutor.run { _ throws(CofferError) in try ModuleServer.serve(token) }
    }

    private static func question(_ pair: KeyPair) -> String {
        "Allow use of the key \(pair.alias.printable) by a program, by PKCS #11?"
    }

    private static func opener(
        _ global: GlobalOptions
    ) -> @Sendable (_ unlocking: Bool) async throws(CofferError) -> Vault {
        { (isUnlocking) async throws(CofferError) -> Vault in
            let vault = try await VaultOpener.vault(global, isSilent: true)
            guard isUnlocking, try await !vault.restoreCachedKeys() else { return vault }
            do throws(CofferError) {
                try await vault.unlock()
            } catch {
                // Keys of the classes that outlast a lock may be there.
                guard error.code == .locked, vault.hasKeys else { throw explained(error) }
            }
            return vault
        }
    }

    private static func explained(_ error: CofferError) -> CofferError {
        guard error.code == .locked else { return error }
        return CofferError(
            .locked, "A program may not use a key pair because the vault is locked.", remedy: .unlockVault)
    }
}
