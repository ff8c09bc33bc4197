import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// The algorithms of new key pairs, as the words that specify them on the command line.
enum KeyPairAlgorithmArgument: String, CaseIterable, ExpressibleByArgument {
    case ed25519, p256, p384

    var algorithm: SigningAlgorithm {
        switch self {
        case .ed25519: .ed25519
        case .p256: .p256
        case .p384: .p384
        }
    }
}

/// The uses of a key pair, as the words that specify them on the command line.
enum KeyPairUseArgument: String, CaseIterable, ExpressibleByArgument {
    case ssh, sign
    case tlsClient = "tls-client"

    var use: KeyPairUses {
        switch self {
        case .ssh: .ssh
        case .sign: .sign
        case .tlsClient: .tlsClient
        }
    }
}

/// The alias of a key pair as an argument.
struct KeyPairAlias: ParsableArguments {
    @Argument(
        help: "The key pair's alias.", completion: .shellCommand("coffer key names 2>/dev/null"))
    var alias: String

    /// The alias, after checking that it is text.
    func text() throws(CofferError) -> String { try Self.checked(alias) }

    static func checked(_ alias: String) throws(CofferError) -> String {
        guard ProgramArguments.isText(alias) else {
            throw CofferError(.invalidInput, "The alias of a key pair must be UTF-8.")
        }
        return alias
    }

    /// Asks on the terminal whether a key pair may be used.
    static func isConfirmed(_ pair: KeyPair) -> Bool {
        do throws(CofferError) {
            return try TerminalQuestion.isConfirmed("Sign with the key \(pair.alias.printable)?")
        } catch {
            return false
        }
    }

    /// Asks on the terminal whether a private key may be exported.
    static func isExportConfirmed(_ pair: KeyPair) -> Bool {
        do throws(CofferError) {
            return try TerminalQuestion.isConfirmed("Export the private key \(pair.alias.printable)?")
        } catch {
            return false
        }
    }

    static var absent: CofferError {
        CofferError(
            .absent, "There is no key pair with this alias. To list all key pairs, run coffer key list.")
    }
}

/// The options of a key pair that is stored.
struct KeyPairProtection: ParsableArguments {
    @Option(
        name: .customLong("class"),
        help: """
            When the private key can be used; default whenUnlockedThisDeviceOnly, with --exportable \
            whenUnlocked.
            """)
    var protection: ProtectionClassArgument?

    @Flag(help: "Ask for confirmation before each use.")
    var confirm = false

    @Flag(help: "Let coffer key export write the private key; this cannot be changed later.")
    var exportable = false

    /// The class.
    var chosenClass: ProtectionClass {
        protection?.protection ?? (exportable ? .whenUnlocked : .whenUnlockedThisDeviceOnly)
    }
}

/// The option for what a key pair may be used for.
struct KeyPairUseOption: ParsableArguments {
    @Option(
        name: .customLong("use"), parsing: .singleValue,
        help: """
            ssh for the SSH agent, sign for coffer key sign, tls-client for a client's certificate; may be \
            repeated. Default: ssh and sign; for an imported key with a certificate, tls-client and sign.
            """)
    var uses: [KeyPairUseArgument] = []

    /// The uses; `nil` if none was specified.
    var chosen: KeyPairUses? { uses.isEmpty ? nil : uses.reduce(into: []) { $0.formUnion($1.use) } }
}

extension KeyPair {
    /// The words for the uses.
    var useNames: [String] { KeyPairUseArgument.allCases.filter { uses.contains($0.use) }.map(\.rawValue) }

    /// The members of the JSON document that describes the key pair.
    func document() throws(CofferError) -> JSONDocument {
        .object([
            ("alias", .text(alias)), ("id", .text(id.uuidString)), ("algorithm", .text(algorithm.name)),
            ("bits", .number(publicKey.size)), ("class", .text(protection.name)),
            ("uses", .list(useNames.map { .text($0) })), ("confirm", .flag(confirmsEachUse)),
            ("exportable", .flag(isExportable)), ("role", .text(role.name)),
            ("generation", .number(Int(generation))), ("created", .text(created.iso8601)),
            ("fingerprint", .text(try SSHPublicKey.fingerprint(publicKey))),
            ("certificate", try certificateStatus()?.document() ?? .none),
        ])
    }
}

extension KeyPairRole {
    /// The role's name in tables and JSON documents.
    var name: String {
        switch self {
        case .current: "current"
        case .next: "next"
        case .former: "former"
        }
    }
}
