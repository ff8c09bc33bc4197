/// A key of a policy. The raw value is the key's name in documents.
public enum PolicyKey: String, Sendable, CaseIterable {
    // MARK: Device management

    /// Whether sign-in requires a client certificate.
    case requireCertAuth = "RequireCertAuth"
    /// The alias of the client certificate.
    case managedAppCertAlias = "ManagedAppCertAlias"
    /// The login servers, of which the first is the default, as `https://host[:port]`.
    case appServiceHosts = "AppServiceHosts"
    /// The labels of the login servers.
    case appServiceHostLabels = "AppServiceHostLabels"
    /// Whether other login servers are refused. Without any server, every server is refused.
    case onlyShowAuthorizedHosts = "OnlyShowAuthorizedHosts"
    /// Whether the application clears the clipboard when it goes to the background.
    case clearClipboardOnBackground = "ClearClipboardOnBackground"
    /// The OAuth client id for the application.
    case managedAppOAuthID = "ManagedAppOAuthID"
    /// The OAuth callback URL for the application.
    case managedAppCallbackURL = "ManagedAppCallbackURL"
    /// The URL scheme of the identity provider's application.
    case idpAppURLScheme = "IDPAppURLScheme"
    /// The package name of the identity provider's application.
    case idpAppPackageName = "IDPAppPackageName"

    // MARK: Attributes

    /// The logging of calls: `DISABLED`, `ADMIN_DEFINED` or `SIMPLE`.
    case callHistory = "CALL_HISTORY"
    /// Whether content may be pasted only in the application.
    case disableExternalPaste = "DISABLE_EXTERNAL_PASTE"
    /// The URI that opens the only allowed e-mail program.
    case forceEmailClientTo = "FORCE_EMAIL_CLIENT_TO"
    /// Whether the application shows its introduction.
    case showOnboardingCarousel = "SHOW_ONBOARDING_CAROUSEL"
    /// Whether files may be opened in other programs and exported.
    case showOpenIn = "SHOW_OPEN_IN"
    /// Whether files may be printed.
    case showPrint = "SHOW_PRINT"

    // MARK: Restrictions

    /// Whether a vault must have a passcode.
    case passcodeRequired = "PasscodeRequired"
    /// Whether passcodes that attackers guess first are refused.
    case passcodeDenyCommon = "PasscodeDenyCommon"
    /// The minimum number of characters of a passcode.
    case passcodeMinimumLength = "PasscodeMinimumLength"
    /// The characters of a passcode: `any`, `digits` or `alphanumeric`.
    case passcodeCharacters = "PasscodeCharacters"
    /// The greatest time without use in minutes after which a vault locks; 0 for only after a reboot.
    case inactivityMinutes = "InactivityMinutes"
    /// The number of wrong passcodes in a row that erases a vault.
    case attemptsBeforeWipe = "AttemptsBeforeWipe"
    /// The storage backends that vaults may use: `file`, `secret-service`.
    case allowedKeyrings = "AllowedKeyrings"
    /// The ways to open a vault: `passcode`, `deviceKey` for no passcode, `recoveryKey`.
    case allowedUnlockMethods = "AllowedUnlockMethods"
    /// The platforms on which vaults may be opened: `linux`, `linux-desktop`, `linux-server`.
    case allowedPlatforms = "AllowedPlatforms"
    /// Whether tokens may be exported and backups made.
    case allowExport = "AllowExport"
    /// Whether files may be exported.
    case allowFileExport = "AllowFileExport"
    /// Whether tokens and keys may be imported and backups restored.
    case allowImport = "AllowImport"
    /// Whether vaults may be on removable media and network file systems.
    case allowRemovableMedia = "AllowRemovableMedia"
    /// Whether vaults may have a recovery key.
    case allowRecoveryKey = "AllowRecoveryKey"
    /// Whether the disk that holds a vault must be known to be encrypted.
    case requireDiskEncryption = "RequireDiskEncryption"
    /// Whether the device key must be in hardware. No vault of this release meets this requirement.
    case requireHardwareKey = "RequireHardwareKey"
    /// Whether vaults must be backed up. A vault that refused to open without a backup could never be backed
    /// up, so this is only reported.
    case requireBackup = "RequireBackup"
    /// The age recipients for which every backup is encrypted, too. Backups with a passphrase, which cannot
    /// have recipients, are refused.
    case backupRecipients = "BackupRecipients"
    /// The addresses from which a service may be used, in CIDR notation.
    case ipRanges = "IPRanges"
    /// The longest life of a stored token in seconds.
    case tokenLifetimeSeconds = "TokenLifetimeSeconds"
    /// The life of a refresh token: `firstUse`, `everyUse`, `hourly`, `daily` or `monthly`.
    case refreshPolicy = "RefreshPolicy"
    /// The number of days without a sign of life after which a vault is erased.
    case contactDays = "ContactDays"

    /// The form of the key's values, and the rule that merges them.
    enum Form {
        /// A Boolean. The value `strictest` of any source holds; without one, the first source counts.
        case flag(strictest: Bool?)
        /// A number in this range.
        case number(ClosedRange<Int>, NumberRule)
        /// One of these words, in order from the loosest to the strictest.
        case word([String])
        /// A list of these words; every source must have a word.
        case words([String])
        /// A list of age recipients; those of every source count.
        case recipients
        /// A list of address ranges; every source must contain an address.
        case addresses
        /// A text; the first source counts.
        case text
        /// A list of servers, or one text with commas; the first source counts.
        case hosts
        /// A list of texts, or one text with commas; the first source counts.
        case labels
        /// A text in quotation marks, and one of these words unless the list is empty; the first source
        /// counts.
        case attribute([String])
    }

    /// The rule for the stricter of two numbers.
    enum NumberRule {
        case least, greatest
        /// The least number except 0, which is the loosest.
        case leastButZero
    }
}

extension PolicyKey {
    /// The names of keys of `mobile_policy` that are other names of keys.
    static let mobilePolicy: [(name: String, key: PolicyKey)] = [
        ("pin_length", .passcodeMinimumLength), ("screen_lock", .inactivityMinutes),
    ]

    /// Whether the key belongs into the dictionary `custom_attributes`.
    var isAttribute: Bool { if case .attribute = form { true } else { false } }

    /// Whether the strictest value of all sources holds. Otherwise, the first source that has a value counts.
    public var isRestriction: Bool {
        switch form {
        case .flag(let strictest): strictest != nil
        case .number, .word, .words, .recipients, .addresses: true
        case .text, .hosts, .labels, .attribute: false
        }
    }

    /// Whether the key belongs to the group of keys about login servers, which all come from one source.
    var isOfServerGroup: Bool {
        [.appServiceHosts, .appServiceHostLabels, .onlyShowAuthorizedHosts].contains(self)
    }

    /// Whether this release enforces the key's values.
    public var grade: PolicyGrade {
        switch self {
        case .clearClipboardOnBackground, .managedAppOAuthID, .managedAppCallbackURL, .idpAppURLScheme,
            .idpAppPackageName, .callHistory, .disableExternalPaste, .forceEmailClientTo,
            .showOnboardingCarousel, .showPrint, .requireBackup, .ipRanges, .contactDays:
            .offered
        default: .enforced
        }
    }

    /// The form of the values.
    var form: Form {
        let switches = ["TRUE", "FALSE"]
        return switch self {
        case .requireCertAuth: .flag(strictest: true)
        case .onlyShowAuthorizedHosts, .clearClipboardOnBackground: .flag(strictest: nil)
        case .managedAppCertAlias, .managedAppOAuthID, .managedAppCallbackURL, .idpAppURLScheme,
            .idpAppPackageName:
            .text
        case .appServiceHosts: .hosts
        case .appServiceHostLabels: .labels
        case .callHistory: .attribute(["DISABLED", "ADMIN_DEFINED", "SIMPLE"])
        case .disableExternalPaste, .showOnboardingCarousel, .showOpenIn, .showPrint: .attribute(switches)
        case .forceEmailClientTo: .attribute([])
        case .passcodeRequired, .passcodeDenyCommon, .requireDiskEncryption, .requireHardwareKey,
            .requireBackup:
            .flag(strictest: true)
        case .allowExport, .allowFileExport, .allowImport, .allowRemovableMedia, .allowRecoveryKey:
            .flag(strictest: false)
        case .passcodeMinimumLength: .number(1...PasscodePolicy.maxMinimumLength, .greatest)
        case .passcodeCharacters: .word(["any", "digits", "alphanumeric"])
        case .inactivityMinutes: .number(0...525_600, .leastButZero)
        case .attemptsBeforeWipe: .number(1...10, .least)
        case .allowedKeyrings: .words(["file", "secret-service"])
        case .allowedUnlockMethods: .words(["passcode", "deviceKey", "recoveryKey"])
        case .allowedPlatforms: .words(["linux", "linux-desktop", "linux-server"])
        case .backupRecipients: .recipients
        case .ipRanges: .addresses
        case .tokenLifetimeSeconds: .number(900...3_155_760_000, .least)
        case .refreshPolicy: .word(["monthly", "daily", "hourly", "everyUse", "firstUse"])
        case .contactDays: .number(1...3650, .least)
        }
    }

    /// Returns the key with this name; `nil` if there is none.
    static func named(_ name: String) -> PolicyKey? { byName[Array(name.utf8)] }

    private static let byName = Dictionary(
        uniqueKeysWithValues: allCases.map { (Array($0.rawValue.utf8), $0) })
}
