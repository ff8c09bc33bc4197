import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import CofferOAuth

/// The `coffer oauth profile` command, which groups the subcommands for profiles.
struct ProfileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Clients of OAuth servers: add, list, show, update, remove, import.",
        subcommands: [
            ProfileAdd.self, ProfileList.self, ProfileShow.self, ProfileUpdate.self, ProfileRemove.self,
            ProfileImport.self,
        ])
}

/// The `coffer oauth profile add` command, which adds a profile.
struct ProfileAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a profile. Nothing is sent.",
        discussion: """
            First register the client with the server, with the redirect URI http://127.0.0.1/oauth/NAME, \
            where NAME is the profile's name. If the server compares the port, too, register one and \
            specify it with --redirect-port. profile show prints the URI of a profile. For a sign-in with \
            --device, no URI is needed.

            The server's endpoints are asked for at the first sign-in, and are then pinned. A profile's \
            issuer never changes: for another server, add another profile.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile's name.", valueName: "name"))
    var name: String

    @Option(help: ArgumentHelp("The server's issuer, exactly as the server writes it.", valueName: "url"))
    var issuer: String

    @Option(name: .customLong("client-id"), help: ArgumentHelp("The client's ID.", valueName: "id"))
    var clientID: String

    @OptionGroup var settings: ProfileSettings

    func run() async throws {
        var profile = try OAuthProfile(name, issuer: issuer, clientID: clientID)
        try settings.apply(to: &profile)
        // The secret is checked first: without it, nothing must be added.
        let secret = try ClientSecretInput.read(settings.clientSecretFd)
        let profiles = try await Sessions.open(global).profiles
        try await profiles.add(profile)
        if let secret { try await profiles.set(secret, as: .secret, of: name) }
        ProfileText.warn(about: profile)
        if global.json { try Output.json(ProfileText.document(profile, [])) }
    }
}

/// A client secret on the command line's descriptor.
enum ClientSecretInput {
    /// Reads the secret from the first line of a descriptor; `nil` if none is specified. Throws
    /// `invalidInput` if the line is empty.
    static func read(_ number: Int32?) throws(CofferError) -> Token? {
        guard let secret = try PasscodeInput.read(number) else { return nil }
        let token = try Token(secret)
        guard token.count > 0 else {
            throw CofferError(
                .invalidInput, "The first line of the descriptor of --client-secret-fd is empty.")
        }
        return token
    }
}

/// The `coffer oauth profile list` command, which lists the profiles.
struct ProfileList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the profiles.", aliases: ["ls"])

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let profiles = try await Sessions.open(global).profiles
        var rows: [[String]] = []
        var documents: [JSONDocument] = []
        var damage: CofferError?
        for name in try await profiles.names() {
            do throws(CofferError) {
                let profile = try await profiles.profile(name)
                rows.append([
                    name, profile.issuer.text, profile.clientID, profile.scopes.joined(separator: " "),
                ])
                documents.append(ProfileText.document(profile, []))
            } catch {
                // A damaged profile does not hide the others.
                guard [.corrupt, .unsupportedVersion, .absent].contains(error.code) else { throw error }
                rows.append([name.printable, "(\(error.code.name))", "-", "-"])
                damage = error
            }
        }
        if global.json {
            try Output.json(.object([("profiles", .list(documents))]))
        } else {
            let heading = ["NAME", "ISSUER", "CLIENT", "SCOPES"]
            for line in TextTable.lines(heading, rows) { try Output.line(line) }
        }
        if let damage { throw damage }
    }
}

/// The `coffer oauth profile show` command, which prints a profile.
struct ProfileShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a profile, without its secrets.")

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var name: String

    func run() async throws {
        let profiles = try await Sessions.open(global).profiles
        let profile = try await profiles.profile(name)
        let secrets = try await profiles.secrets(of: name).map(\.rawValue).sorted()
        guard !global.json else { return try Output.json(ProfileText.document(profile, secrets)) }
        for line in ProfileText.lines(profile, secrets) { try Output.line(line) }
    }
}

/// The `coffer oauth profile update` command, which changes a profile.
struct ProfileUpdate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change a profile, or ask its server for the endpoints again.",
        discussion: """
            An option replaces the whole property, such as all scopes. Without an option, the server is \
            asked for its endpoints; if they differ from the pinned ones, the command ends with 11 and \
            changes nothing, also with --endpoint. --accept pins the new ones: anyone who controls an \
            endpoint receives the tokens.

            An empty value removes what --scope, --host, --key-id, --redirect-port, --ca-file or --pin set \
            before. The issuer never changes, because the tokens belong to it: add another profile instead.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var name: String

    @Option(name: .customLong("client-id"), help: ArgumentHelp("The client's ID.", valueName: "id"))
    var clientID: String?

    @OptionGroup var settings: ProfileSettings

    @Flag(help: "Accept endpoints that differ from the pinned ones.")
    var accept = false

    func run() async throws {
        let secret = try ClientSecretInput.read(settings.clientSecretFd)
        let oauth = try await Sessions.open(global)
        let stored = try await oauth.profiles.profile(name)
        var profile = stored
        if let clientID { profile.clientID = clientID }
        try settings.apply(to: &profile)
        if profile != stored { try await oauth.profiles.update(profile, acceptsEndpoints: accept) }
        if let secret { try await oauth.profiles.set(secret, as: .secret, of: name) }
        if profile == stored, secret == nil {
            profile = try await oauth.discover(name, acceptsEndpoints: accept)
        }
        ProfileText.warn(about: profile)
        if profile.endpoints != stored.endpoints {
            Output.message(
                "coffer: The profile \(name) has new endpoints. Run coffer oauth profile show \(name).")
        }
        if global.json { try Output.json(ProfileText.document(profile, [])) }
    }
}

/// The `coffer oauth profile remove` command, which removes a profile.
struct ProfileRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a profile and its client's secrets.",
        discussion: """
            A profile with sessions, or with tokens that wait to be revoked, is not removed: sign out with \
            coffer oauth logout first, or specify --force. Tokens that wait can be revoked as long as the \
            profile is there; without it, they are sent nowhere.
            """,
        aliases: ["rm"])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var name: String

    @Flag(
        help: ArgumentHelp(
            "Remove the profile even if it has sessions, which can then no longer be used, or tokens that "
                + "wait to be revoked, which then stay valid at the server."))
    var force = false

    func run() async throws {
        let oauth = try await Sessions.open(global)
        let name = name
        let hasSession = try await oauth.grants().contains { $0.profile.hasSameBytes(as: name) }
        guard force || !hasSession else {
            throw CofferError(
                .conflict,
                "The profile \(name.printable) has sessions. Sign them out with coffer oauth logout, or "
                    + "specify --force.")
        }
        let isWaiting = try await oauth.waitingTokens().contains { $0.profile.hasSameBytes(as: name) }
        guard force || !isWaiting else {
            throw CofferError(
                .conflict,
                "Tokens of the profile \(name.printable) wait to be revoked at its server. Run coffer oauth "
                    + "logout --all when the server can be reached, or specify --force.")
        }
        guard try await oauth.profiles.remove(name) else {
            throw CofferError(
                .absent, "There is no profile with the name \(name.printable).", remedy: .addProfile)
        }
        if global.json { try Output.json(.object([("removed", .flag(true))])) }
    }
}

/// The `coffer oauth profile import` command, which adds a profile for each server of a list.
struct ProfileImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Add a profile for each server of a servers.xml file.",
        discussion: """
            A profile's name is the server's label in lower case, with hyphens in place of everything but \
            letters and digits. Unless --host is specified, its tokens may go to the server itself. If a \
            name is taken, or the file is invalid or lists no server, nothing is added.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(
        help: ArgumentHelp("The file, or - for standard input.", valueName: "file"),
        completion: .file())
    var file: String

    @Option(name: .customLong("client-id"), help: ArgumentHelp("The client's ID.", valueName: "id"))
    var clientID: String

    @OptionGroup var settings: ProfileSettings

    func run() async throws {
        let profiles = try fileProfiles()
        let secret = try ClientSecretInput.read(settings.clientSecretFd)
        let store = try await Sessions.open(global).profiles
        var taken = Set(try await store.names())
        for profile in profiles {
            guard taken.insert(profile.name).inserted else {
                throw CofferError(
                    .alreadyExists,
                    "A profile with the name \(profile.name) already exists. No profile was added.")
            }
        }
        for profile in profiles {
            try await store.add(profile)
            if let secret { try await store.set(secret, as: .secret, of: profile.name) }
        }
        guard !global.json else {
            let names = profiles.map { JSONDocument.text($0.name) }
            return try Output.json(.object([("added", .list(names))]))
        }
        for profile in profiles { try Output.line(profile.name) }
    }

    /// Returns a profile for each server of the file.
    private func fileProfiles() throws(CofferError) -> [OAuthProfile] {
        let servers = try LoginServer.servers(parsing: try contents())
        guard !servers.isEmpty else {
            throw CofferError(.absent, "The file lists no server. No profile was added.")
        }
        var profiles: [OAuthProfile] = []
        for server in servers {
            let place = server.url.host + (server.url.port == 443 ? "" : ":\(server.url.port)")
            var profile: OAuthProfile
            do throws(CofferError) {
                profile = try OAuthProfile(
                    Self.name(for: server.label), issuer: server.url.text, clientID: clientID,
                    resourceHosts: [place])
            } catch {
                guard error.code == .invalidInput else { throw error }
                throw CofferError(
                    .invalidInput,
                    "No profile can be made of the server \(server.label.printable): \(error.message)")
            }
            try settings.apply(to: &profile)
            profiles.append(profile)
        }
        return profiles
    }

    private func contents() throws(CofferError) -> [UInt8] {
        let limit = 1 << 16
        guard file.hasSameBytes(as: "-") else {
            return try Descriptor.open(ProgramArguments.path(file), .read).readAll(limit: limit)
        }
        let text = try SecretInput.all(from: try Descriptor.standardInput(), limit: limit)
        return text.span.copied()
    }

    private static func name(for label: String) -> String {
        let bytes = label.foldedASCII.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            default: UInt8(ascii: "-")
            }
        }
        return String(decoding: bytes.prefix(64), as: UTF8.self)
    }
}
