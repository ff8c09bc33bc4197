package import CofferBase
import CofferEngine

/// The requirements of a policy, each with the error for an act that the policy forbids.
extension ManagedPolicy {
    /// Returns the error for an act that a key forbids.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - reason: The reason as a sentence without its end.
    ///   - code: The error's code.
    ///   - remedy: A step that may help.
    /// - Returns: The error.
    package func refusal(
        _ key: PolicyKey, _ reason: String, code: CofferError.Code = .refused,
        remedy: CofferError.Remedy? = nil
    ) -> CofferError {
        let origins = origins(of: key).map(\.description).joined(separator: ", ")
        return CofferError(code, "\(reason) (\(key.rawValue) in \(origins)).", remedy: remedy)
    }

    /// Throws `refused` if a Boolean key has the value that forbids an act.
    package func require(_ key: PolicyKey, toAllow act: String) throws(CofferError) {
        guard case .flag(let strictest?) = key.form, flag(key) == strictest else { return }
        throw refusal(key, "The administrator's policy does not allow \(act)")
    }

    /// Throws `refused` if files may not be given to other programs.
    package func requireOpenIn() throws(CofferError) {
        guard attribute(.showOpenIn) == "FALSE" else { return }
        throw refusal(.showOpenIn, "The administrator's policy does not allow other programs to open files")
    }

    /// Returns whether a list has a word, or the administrator has not set the list.
    private func allows(_ word: String, in key: PolicyKey) -> Bool {
        list(key)?.contains { $0.hasSameBytes(as: word) } ?? true
    }

    /// Throws `refused` if a vault may not be opened with this method.
    package func requireUnlockMethod(_ method: UnlockMethod) throws(CofferError) {
        guard allows(method.rawValue, in: .allowedUnlockMethods) else {
            throw refusal(
                .allowedUnlockMethods,
                "The administrator's policy does not allow opening a vault with \(method.description)")
        }
    }

    /// Throws `refused` if vaults may not use a storage backend.
    package func requireKeyring(_ backend: KeyringBackend) throws(CofferError) {
        guard allows(backend.rawValue, in: .allowedKeyrings) else {
            throw refusal(
                .allowedKeyrings, "The administrator's policy does not allow the keyring \(backend.rawValue)")
        }
    }

    /// Throws `refused` if vaults may not be created or opened on this machine, or if the administrator
    /// demands what no vault of this release has.
    package func requireMachine() throws(CofferError) {
        guard list(.allowedPlatforms).map({ !PolicyPlatform.names.isDisjoint(with: $0) }) ?? true else {
            throw refusal(
                .allowedPlatforms,
                "The administrator's policy does not allow vaults on \(PolicyPlatform.current.rawValue)")
        }
        if flag(.requireHardwareKey) == true {
            throw refusal(
                .requireHardwareKey,
                "The administrator's policy requires a device key in hardware, which this release does not "
                    + "have")
        }
    }

    // MARK: Passcodes

    /// Returns the requirements for a new passcode: those of a vault and those of the administrator.
    package func passcodePolicy(with own: PasscodePolicy) throws(CofferError) -> PasscodePolicy {
        guard !isEmpty else { return own }
        var all = [own]
        switch attribute(.passcodeCharacters) {
        case "digits"?: all.append(.digits)
        case "alphanumeric"?: all.append(.alphanumeric)
        default: break
        }
        if let length = number(.passcodeMinimumLength) { all.append(try .minimumLength(length)) }
        if flag(.passcodeDenyCommon) == true { all.append(.rejectingCommon) }
        return try .strictest(of: all)
    }

    /// Checks the passcode of a vault that is created, changed or recovered.
    package func check(newPasscode passcode: Passcode?, _ own: PasscodePolicy) throws(CofferError) {
        guard let passcode else { return try requireNoPasscode(.refused) }
        try requireUnlockMethod(.passcode)
        try passcodePolicy(with: own).check(passcode)
    }

    /// Checks the passcode in use, which is known to be right. The vault's own requirements apply only to new
    /// passcodes.
    ///
    /// - Throws: `passcodeMustChange` if the policy requires another passcode; `refused` if it allows none.
    package func check(currentPasscode passcode: Passcode?) throws(CofferError) {
        guard let passcode else { return try requireNoPasscode(.passcodeMustChange) }
        try requireUnlockMethod(.passcode)
        do throws(CofferError) {
            try passcodePolicy(with: .none).check(passcode)
        } catch {
            guard error.code == .refused else { throw error }
            let keys = [PolicyKey.passcodeMinimumLength, .passcodeCharacters, .passcodeDenyCommon]
            let key = keys.first { self[$0] != nil } ?? .passcodeMinimumLength
            throw refusal(
                key, "The passcode is right, but the administrator's policy requires another one",
                code: .passcodeMustChange, remedy: .changePasscode)
        }
    }

    /// Throws unless a vault may be without a passcode.
    private func requireNoPasscode(_ code: CofferError.Code) throws(CofferError) {
        let isRequired = flag(.passcodeRequired) == true
        let isAllowed = allows(UnlockMethod.deviceKey.rawValue, in: .allowedUnlockMethods)
        guard isRequired || !isAllowed else { return }
        throw refusal(
            isRequired ? .passcodeRequired : .allowedUnlockMethods,
            "The administrator's policy requires a passcode", code: code, remedy: .setPasscode)
    }

    // MARK: Limits

    /// The number of wrong passcodes in a row that erases a vault; `nil` if the administrator has not set it.
    package var attemptLimit: Int? { number(.attemptsBeforeWipe) }

    /// Returns the time in seconds without use after which a vault locks: the shorter one of the vault's own
    /// and the administrator's; `nil` for never.
    package func inactivity(with own: Int?) -> Int? {
        guard let minutes = number(.inactivityMinutes), minutes > 0 else { return own }
        return min(own ?? .max, minutes * 60)
    }
}

/// A way to open a vault, as policies name it.
package enum UnlockMethod: String, Sendable, CaseIterable {
    case passcode
    /// Without a passcode: the device key alone opens the vault.
    case deviceKey
    case recoveryKey

    /// The method for messages.
    package var description: String {
        switch self {
        case .passcode: "a passcode"
        case .deviceKey: "no passcode"
        case .recoveryKey: "a recovery key"
        }
    }
}
