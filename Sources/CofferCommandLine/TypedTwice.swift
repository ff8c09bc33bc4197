package import Coffer
package import CofferBase

/// A new passcode or passphrase that the user types twice on the terminal.
package enum TypedTwice {
    private static let maxTries = 3

    /// Asks the user to type a new secret and then to repeat it. After a mistake, asks again, up to three
    /// times in all.
    ///
    /// - Parameters:
    ///   - prompt: The prompt for the first entry of the secret.
    ///   - confirmation: The prompt for the repetition of the secret.
    ///   - noun: The plural noun for the two secrets in messages.
    ///   - check: A closure that throws an error if the secret is not acceptable. In that case, the user is
    ///     not asked to repeat the secret.
    /// - Returns: The secret that the user typed.
    /// - Throws: The error from the third attempt: either `invalidInput` if the two entries differ, or the
    ///   error that `check` threw.
    package static func read(
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
