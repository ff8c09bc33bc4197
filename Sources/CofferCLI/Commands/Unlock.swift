import ArgumentParser
import Coffer
import CofferBase

/// `coffer unlock`
struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Keep the class keys in the kernel keyring for later commands of this user.",
        discussion: """
            They stay until `coffer lock`, a reboot, or the home's inactivity time without use; with --for \
            exactly so long. The keys of the two afterFirstUnlock classes stay until a reboot. Where there \
            is no kernel keyring, every command asks for the passcode.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(name: .customLong("for"), help: ArgumentHelp("Until then and no longer.", valueName: "seconds"))
    var seconds: Int?

    func run() async throws {
        if let seconds, !(1...Int(Int32.max)).contains(seconds) {
            throw CofferError(.invalidInput, "--for takes 1 to \(Int32.max) seconds.")
        }
        let session = try await Opening.unlocked(global)
        var isHeld = true
        do throws(CofferError) {
            try await session.holdKeys(for: seconds.map { .seconds($0) })
        } catch {
            guard [.unsupported, .permissionDenied, .noSpace].contains(error.code) else { throw error }
            isHeld = false
            Output.message(
                "coffer: the passcode is right, but there is no kernel keyring to keep the keys in: "
                    + "give the passcode to each command.")
        }
        if global.json { try Output.json(.object([("state", .text("unlocked")), ("held", .flag(isHeld))])) }
    }
}

/// `coffer lock`
struct LockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock", abstract: "Take back the keys that `unlock` left in the kernel keyring.",
        discussion:
            "All but those of the two afterFirstUnlock classes, which a reboot or a wipe takes.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let session = try await Opening.session(global)
        session.lock()
        if global.json { try Output.json(.object([("state", .text("locked"))])) }
    }
}
