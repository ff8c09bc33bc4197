extension CofferError.Code {
    /// The exit code of a command that ends with this error, and the result of a function of the C interface.
    package var exitCode: Int32 {
        switch self {
        case .absent: 3
        case .locked, .keyringLocked, .noPrompter, .promptDismissed: 4
        case .wrongPasscode: 5
        case .wiped: 6
        case .corrupt, .notAuthentic, .foreign, .unsupportedVersion, .rolledBack, .anchorLost,
            .missing:
            7
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
            .tokenRevoked, .serverRefused, .policyInvalid, .passcodeMustChange:
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
