import Coffer
import CofferBase

/// A new passcode or passphrase that the user types twice on the terminal.
enum TypedTwice {
    private static let maxTries = 3

    /// Asks for a new secret and its repetition. After a mistake, asks again, at most three times in all.
    ///
    /// - Parameters:
    ///   - prompt: The prompt for the secret.
    ///   - confirmation: The prompt for its repetition.
    ///   - noun: The plural noun for the two secrets in messages.
    ///   - check: Throws if the secret is not acceptable; its repetition is then not asked for.
    /// - Returns: The secret.
    /// - Throws: The error of the third try: `invalidInput` if the two differ, or the error of `check`.
    static func read(
        _ prompt: String, confirmation: String, noun: String,
        check: (Passcode) throws(CofferError) -> Void
    ) throws(CofferError) -> Passcode {
        var triesLeft = maxTries
        while true {
            triesLeft -= 1
            do throws(CofferError) {
                let first = try Passcode.readFromTerminal(prompt: prompt)
                try check(first)
                guard try first.isEqual(to: Passcode.readFromTerminal(prompt: confirmation)) else {
                    throw CofferError(.invalidInput, "The two \(noun) do not match.")
                }
                return first
            } catch {
                guard triesLeft > 0, [.invalidInput, .refused].contains(error.code) else { throw error }
                Output.message("coffer: \(error.advice) Try again.")
            }
        }
    }
}
