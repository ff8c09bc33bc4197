public import CofferBase
import CofferEngine

extension Passcode {
    private static let maxTries = 3

    /// Reads a new passcode from the controlling terminal without echo, and reads it again to find typing
    /// mistakes. After a mistake, writes the reason to the terminal and asks again, at most three times in
    /// all.
    ///
    /// - Parameters:
    ///   - prompt: The prompt for the passcode.
    ///   - confirmation: The prompt for its repetition.
    ///   - policy: The policy of the vault, such as ``VaultOptions/policy``. A passcode that it refuses is
    ///     not asked for again.
    /// - Returns: The passcode.
    /// - Throws: `unsupported` if there is no terminal; the error of the third try: `invalidInput` if the two
    ///   differ, or for a line that is empty or has control characters; `refused` by the policy.
    public static func readNewFromTerminal(
        prompt: String = "New passcode: ", confirmation: String = "Confirm passcode: ",
        policy: PasscodePolicy = .none
    ) throws(CofferError) -> Passcode {
        var triesLeft = maxTries
        while true {
            triesLeft -= 1
            do throws(CofferError) {
                let first = try readFromTerminal(prompt: prompt)
                try policy.check(first)
                guard try first.isEqual(to: readFromTerminal(prompt: confirmation)) else {
                    throw CofferError(.invalidInput, "The two passcodes do not match.")
                }
                return first
            } catch {
                guard triesLeft > 0, [.invalidInput, .refused].contains(error.code) else { throw error }
                let line = Array("\(error.message) Try again.\n".utf8)
                try terminal().append(line.span)
            }
        }
    }
}
