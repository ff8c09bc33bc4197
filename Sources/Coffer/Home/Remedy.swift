import CofferBase

/// The next step for a person whose data cannot be read, as the last sentence of the message.
enum Remedy: String {
    case home =
        "Put back a copy of the home from a backup; coffer wipe --yes erases it, readable or not."
    case backup = "Put back a copy of the home from a backup."
    case newerRelease = "Use that release, or put back a copy of the home from a backup."
    case tokenFile = """
        Put back a copy of the vault's file tokens from a backup. Without one, erase the tokens alone and \
        import an export; the files stay, the vault's databases are lost with their keys: coffer wipe --yes \
        --tokens
        """
    case token =
        "Put back a copy of the home from a backup, or remove it with coffer token remove and store it again."
    case waitingToken = "Store it again; coffer token purge-corrupt removes what is left of it."
    case export = "Take another copy of the file."

    /// Runs `body` and adds the remedy to the damage that it finds.
    static func saying<Result: ~Copyable>(
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
    /// An error about something that cannot be read, with what to do about it.
    init(_ code: Code, _ message: String, _ remedy: Remedy?) {
        self.init(code, remedy.map { message + " " + $0.rawValue } ?? message)
    }
}
