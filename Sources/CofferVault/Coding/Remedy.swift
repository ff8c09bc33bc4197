package import CofferBase

/// The next step for a user whose data cannot be read, as the last sentence of the message.
package enum Remedy: String {
    case home =
        "Restore the vault directory from a backup, or erase it with coffer wipe --yes."
    case backup = "Restore the vault directory from a backup."
    case newerRelease = "Use that release, or restore the vault directory from a backup."
    case tokenFile = """
        Restore the vault's file tokens from a backup. Without one, erase only the tokens with coffer wipe \
        --yes --tokens and import an export; the files stay, but the vault's databases are lost with their \
        keys.
        """
    case token =
        "Restore the vault directory from a backup, or remove it with coffer token remove and store it again."
    case waitingToken = "Store it again, and remove the damaged copy with coffer token purge-corrupt."
    case export = "Use another copy of the file."

    /// Runs `body` and adds the remedy to a `corrupt` error that it throws.
    package static func saying<Result: ~Copyable>(
        _ remedy: Remedy?, _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        do throws(CofferError) {
            return try body()
        } catch {
            guard error.code == .corrupt else { throw error }
            throw CofferError(.corrupt, error.message, remedy)
        }
    }
}

extension CofferError {
    /// An error about unreadable data, with the remedy.
    package init(_ code: Code, _ message: String, _ remedy: Remedy?) {
        self.init(code, remedy.map { message + " " + $0.rawValue } ?? message)
    }
}
