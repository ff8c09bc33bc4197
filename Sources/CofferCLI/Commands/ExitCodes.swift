import ArgumentParser
import CofferBase

extension CofferError.Code {
    /// The exit code of a command that ends with this error.
    var exitCode: Int32 {
        switch self {
        case .absent: 3
        case .locked, .keyringLocked, .noPrompter, .promptDismissed: 4
        case .wrongPasscode: 5
        case .wiped: 6
        case .corrupt, .notAuthentic, .foreign, .unsupportedVersion, .rolledBack, .missing: 7
        case .orderMalformed, .orderTooLong, .orderUnsupportedVersion, .orderUnknownKey, .orderBadSignature,
            .orderForeign:
            7
        case .serverMalformed, .redirectRefused, .issuerMismatch, .stateMismatch, .certificateRefused,
            .hostRefused:
            7
        case .keyringUnavailable, .noSessionBus, .noSecretService, .noDefaultCollection, .interrupted: 8
        case .timedOut: 9
        case .conflict, .ambiguous, .orderReplayed: 10
        case .refused, .attemptDelayed, .orderCounterOutOfRange, .orderNotYetValid, .orderExpired,
            .tokenRevoked, .serverRefused:
            11
        case .notInitialised: 12
        case .alreadyExists: 13
        case .signInNeeded, .sessionLost: 14
        case .serverUnreachable: 15
        case .invalidInput: 64
        case .busy: 75
        default: 1
        }
    }
}

/// Functions that report a command's failure.
enum Failure {
    /// The parts before and after the message in the JSON document for an out-of-memory error. The parts are
    /// static strings because there may not be enough memory to build them.
    static let noMemoryDocument: (before: StaticString, after: StaticString) = (
        "{\"error\":{\"code\":\"outOfMemory\",\"message\":\"", "\"}}\n"
    )

    /// Prints the error for the user and, if `asJSON` is `true`, also as JSON for a program. Returns the exit
    /// code.
    static func reported(_ error: any Error, asJSON: Bool) -> ExitCode {
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
        let code = CofferCommand.exitCode(for: error)
        let text = CofferCommand.fullMessage(for: error)
        if code.isSuccess {
            try? Output.line(text)
            if CofferCommand.isOwnHelp(text) { try? Output.line("\n" + CofferCommand.exitCodes) }
        } else {
            // The parser repeats arguments as they are.
            report(
                document("usage", CofferCommand.message(for: error)), text: text.printableLines, asJSON)
        }
        return code
    }

    private static func report(_ document: JSONDocument, text: String, _ asJSON: Bool) {
        Output.message(text)
        guard asJSON else { return }
        try? Output.json(.object([("error", document)]))
    }

    /// Returns the error as a JSON document.
    static func document(_ error: CofferError) -> JSONDocument {
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
