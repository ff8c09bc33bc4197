package import ArgumentParser
package import CofferBase

/// Functions that report a command's failure.
package enum Failure {
    /// The end of a program's help. Whoever looks for a command should not have to read it first.
    package static let exitCodes = """
        EXIT CODES:
          0 ok, 1 other failure, 3 absent, 4 locked, 5 wrong passcode, 6 wiped, 7
          corrupt or not authentic, 8 keyring unavailable, 9 timed out, 10 conflict, 11
          refused by policy, or by an OAuth server, also one that revoked the session, 12
          not initialised, 13 already exists, 14 sign-in needed, 15 server not reached, 64
          usage, 75 busy.
        """

    /// The parts before and after the message in the JSON document for an out-of-memory error. The parts are
    /// static strings because there may not be enough memory to build them.
    package static let noMemoryDocument: (before: StaticString, after: StaticString) = (
        "{\"error\":{\"code\":\"outOfMemory\",\"message\":\"", "\"}}\n"
    )

    /// Prints the error for the user and, if `asJSON` is `true`, also as JSON for a program. Returns the exit
    /// code. The parser's own errors and its help are those of the program's command `root`.
    package static func reported(
        _ error: any Error, asJSON: Bool, root: any ParsableCommand.Type
    ) -> ExitCode {
        if let failure = error as? CofferError {
            let error = VaultOpener.explained(failure)
            report(document(error), text: "coffer: \(error.advice)", asJSON)
            return ExitCode(error.code.exitCode)
        }
        if let failure = error as? CommandNotStarted {
            report(document(failure.error), text: "coffer: \(failure.error.advice)", asJSON)
            return ExitCode(failure.exitCode)
        }
        if let error = error as? UnknownWord {
            report(document("usage", error.message), text: error.text.printableLines, asJSON)
            return .validationFailure
        }
        // The command has already reported the error.
        if let code = error as? ExitCode { return code }
        let code = root.exitCode(for: error)
        let text = root.fullMessage(for: error)
        if code.isSuccess {
            try? Output.line(text)
            if isOwnHelp(text, of: root) { try? Output.line("\n" + exitCodes) }
        } else {
            // The parser repeats arguments as they are.
            report(
                document("usage", root.message(for: error)), text: text.printableLines, asJSON)
        }
        return code
    }

    /// Reports whether the text is the help of the program itself, not of one of its commands.
    private static func isOwnHelp(_ text: String, of root: any ParsableCommand.Type) -> Bool {
        text.utf8.hasPrefix("OVERVIEW: ") && text.hasSameBytes(as: root.helpMessage(includeHidden: false))
    }

    private static func report(_ document: JSONDocument, text: String, _ asJSON: Bool) {
        Output.message(text)
        guard asJSON else { return }
        try? Output.json(.object([("error", document)]))
    }

    /// Returns the error as a JSON document.
    package static func document(_ error: CofferError) -> JSONDocument {
        document(error.code.name, error.message, error.remedy, error.entries, error.serverCode)
    }

    private static func document(
        _ code: String, _ message: String, _ remedy: CofferError.Remedy? = nil, _ entries: [String] = [],
        _ serverCode: String? = nil
    ) -> JSONDocument {
        let advice = remedy == nil ? [] : JSONDocument.members(of: remedy)
        let list: [(String, JSONDocument)] =
            entries.isEmpty ? [] : [("entries", .list(entries.map { .text($0) }))]
        let server: [(String, JSONDocument)] = serverCode.map { [("serverCode", .text($0))] } ?? []
        return .object([("code", .text(code)), ("message", .text(message))] + advice + list + server)
    }
}
