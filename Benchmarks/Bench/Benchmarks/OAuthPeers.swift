import BenchPeers
import CofferBase
import SystemPackage
import TestSupport

/// The plain exchange with the same server, without a vault: `curl`, which asks for tokens as in a renewal.
struct CurlPeer: Sendable {
    let peer: Peer
    private let program: PeerProgram
    private let arguments: [String]

    /// `nil` if `curl` is not installed.
    static func make(_ site: OAuthSite) -> CurlPeer? {
        guard let program = PeerProgram.find("curl") else { return nil }
        let form = "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=d&client_id=desktop"
        return CurlPeer(
            peer: Peer(name: "curl", version: program.version() ?? "unknown"), program: program,
            arguments: [
                "--silent", "--fail", "--cacert", site.authority.string, "--data", form,
                site.origin + "/token",
            ])
    }

    func exchange() throws(CofferError) { try program.run(arguments, deadline: OAuthSite.deadline) }
}

/// `oidc-agent` with an account of its own at the same server, and `oidc-token`, which asks it for tokens.
final class OIDCAgentPeer {
    static let name = "oidc-agent"
    static let absence = "oidc-agent is not installed or does not start"

    let peer: Peer
    private let program: PeerProgram
    /// The shell that owns the agent: ends it when told to, and when this process is gone.
    private let shell: Helper

    private init(peer: Peer, program: PeerProgram, shell: Helper) {
        self.peer = peer
        self.program = program
        self.shell = shell
    }

    deinit {
        shell.send("end")
        _ = shell.end(seconds: 10)
    }

    /// Starts the agent and adds an account, whose refresh token comes from the server; `nil` if that fails.
    static func start(_ site: OAuthSite) throws(CofferError) -> OIDCAgentPeer? {
        guard PeerProgram.find("oidc-agent") != nil, let maker = PeerProgram.find("oidc-gen"),
            let program = PeerProgram.find("oidc-token")
        else { return nil }
        let folder = try site.makeFolder("oidc")
        let socket = folder.appending("agent").string
        OwnProcess.setEnvironment("OIDC_CONFIG_DIR", folder.string)
        OwnProcess.setEnvironment("OIDC_SOCK", socket)
        OwnProcess.setEnvironment("OIDC_ENCRYPTION_PW", "the password")
        guard let shell = Helper(["sh", "-c", script, socket]) else { return nil }
        let peer = Peer(name: name, version: program.version() ?? "unknown")
        let made = OIDCAgentPeer(peer: peer, program: program, shell: shell)
        let account = [
            "--manual", "--rt=" + (try site.ask("session")), "--issuer=\(site.origin)/",
            "--client-id=desktop", "--client-secret=", "--redirect-uri=http://localhost:4242",
            "--scope=openid offline_access", "--cp=\(site.authority)", "--pw-env", "--prompt=none",
            "--confirm-yes", "bench",
        ]
        guard (try? maker.run(account, deadline: OAuthSite.deadline)) != nil else { return nil }
        return made
    }

    /// Asks the agent for an access token, which it renews if it has expired.
    func token() throws(CofferError) -> String {
        let line = try program.output(["bench"], deadline: OAuthSite.deadline)
        return String(line.filter { !$0.isWhitespace })
    }

    /// Renews the access token.
    func renew() throws(CofferError) {
        try program.run(["--force-new", "bench"], deadline: OAuthSite.deadline)
    }

    /// Asks the agent in many processes at once and returns what all of them print.
    func tokens(of starter: ProcessStarter) throws(CofferError) -> String {
        try starter.output([program.path, "bench"])
    }

    /// It keeps the password of the account file in memory: it writes each new refresh token into the file.
    private static let script = """
        oidc-agent -d --no-autoload --pw-store -a "$0" </dev/null >/dev/null 2>&1 &
        agent=$!
        trap 'kill $agent 2>/dev/null' EXIT
        count=0
        while [ ! -S "$0" ]; do
            count=$((count + 1)); [ $count -lt 1000 ] || exit 1
            sleep 0.01
        done
        echo ready
        read -r end
        """
}

/// `git-credential-oauth` as Git runs it, with the refresh token of an earlier answer.
///
/// Old versions, such as 0.4.2 of Debian 12, ignore it and sign in again. They get a browser that answers at
/// once.
struct GitCredentialPeer: Sendable {
    static let name = "git-credential-oauth"
    static let absence = "git-credential-oauth is not installed or does not give a token"

    let peer: Peer
    private let site: OAuthSite
    private let environment: PeerProgram
    private let arguments: [String]
    private let request: FilePath

    /// `nil` if `git-credential-oauth`, `curl` or `env` is not installed.
    static func make(_ site: OAuthSite) throws(CofferError) -> GitCredentialPeer? {
        guard let program = PeerProgram.find(name), let environment = PeerProgram.find("env"),
            let curl = PeerProgram.find("curl")
        else { return nil }
        // Some versions start the program open, others xdg-open. It must end before the answer is read.
        let browser = """
            #!/bin/sh
            '\(curl.path)' --silent --location --cacert '\(site.authority)' --output /dev/null "$1" \
            </dev/null >/dev/null 2>&1 &

            """
        let programs = try site.makeFolder("bin")
        for name in ["open", "xdg-open"] {
            try site.write(browser, to: programs.appending(name), isProgram: true)
        }
        let settings = site.folder.appending("gitconfig")
        try site.write(
            """
            [credential "\(site.origin)"]
                oauthClientId = desktop
                oauthAuthURL = /authorize
                oauthTokenURL = /token
                oauthScopes = api

            """, to: settings)
        let peer = GitCredentialPeer(
            peer: Peer(name: name, version: version(program)), site: site, environment: environment,
            arguments: [
                "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=\(settings)", "SSL_CERT_FILE=\(site.authority)",
                "PATH=\(programs):/usr/local/bin:/usr/bin:/bin", program.path, "get",
            ], request: site.folder.appending("request"))
        try peer.remember(try site.ask("session"))
        return peer
    }

    /// Asks for a token and keeps the new refresh token for the next time.
    func renew() throws(CofferError) {
        let answer = try environment.output(
            arguments, input: request.string, deadline: OAuthSite.deadline)
        let lines = answer.split(separator: "\n")
        let newest = try site.ask("token")
        guard lines.contains(where: { $0 == "password=" + newest }) else {
            throw CofferError(.internalFailure, "git-credential-oauth does not give the server's token.")
        }
        let label = "oauth_refresh_token="
        if let line = lines.first(where: { $0.hasPrefix(label) }) {
            try remember(String(line.dropFirst(label.count)))
        }
    }

    private func remember(_ token: String) throws(CofferError) {
        try site.write(
            "protocol=https\nhost=\(site.host)\noauth_refresh_token=\(token)\n\n", to: request)
    }

    /// Its own answer or, before it had one, that of Debian's packages.
    private static func version(_ program: PeerProgram) -> String {
        let packages = PeerProgram.find("dpkg-query")
        return program.version(["version"]) ?? packages?.version(["-W", "-f", "${Version}", name])
            ?? "unknown"
    }
}
