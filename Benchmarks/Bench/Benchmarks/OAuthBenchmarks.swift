import CofferBase

/// Sessions at a server, through the command.
enum OAuthBenchmarks {
    static let all: [Benchmark] = [
        Benchmark("oauth-token-live", live), Benchmark("oauth-refresh", refresh),
        Benchmark("oauth-100-processes", together),
    ]

    /// The site of a benchmark; `nil`, after a line that says so, if it cannot be made.
    static func makeSite(_ name: String, _ runner: Runner) throws(CofferError) -> OAuthSite? {
        #if OAuth
            return try OAuthSite.make(for: name, runner)
        #else
            runner.skip(name, peer: nil, reason: "built without the trait OAuth")
            return nil
        #endif
    }

    // MARK: A live token

    private static func live(_ runner: Runner) async throws(CofferError) {
        let name = "oauth-token-live"
        guard let site = try makeSite(name, runner) else { return }
        let issued = try site.ask("token")
        let ours: Runner.Work = { (runs) async throws(CofferError) in
            for _ in 0..<runs { try site.run(OAuthSite.token) }
        }
        try await runner.compare(
            name, with: site.ownPeer("coffer token get"), clock: .wall,
            note: "theirs: a token that was stored by hand; the aim is 0.87 at least", ours: ours,
            theirs: { (runs) async throws(CofferError) in
                for _ in 0..<runs { try site.run(OAuthSite.get) }
            },
            agree: { () async throws(CofferError) -> Bool in
                let token = try site.output(OAuthSite.token)
                let stored = try site.output(OAuthSite.get)
                return token == issued && stored == VaultBench.value
            })
        guard let agent = try OIDCAgentPeer.start(site) else {
            return runner.skip(name, peer: OIDCAgentPeer.name, reason: OIDCAgentPeer.absence)
        }
        let theirs = try site.ask("token")
        try await runner.compare(
            name, with: agent.peer, clock: .wall, note: "theirs: from a process that keeps it in memory",
            ours: ours,
            theirs: { (runs) async throws(CofferError) in
                for _ in 0..<runs { _ = try agent.token() }
            },
            agree: { () async throws(CofferError) -> Bool in
                let token = try site.output(OAuthSite.token)
                let other = try agent.token()
                return token == issued && other == theirs
            })
    }

    // MARK: A renewal

    private static let refreshName = "oauth-refresh"

    private static func refresh(_ runner: Runner) async throws(CofferError) {
        guard let site = try makeSite(refreshName, runner) else { return }
        if let curl = CurlPeer.make(site) {
            try await compare(runner, site, with: curl.peer, "theirs: the exchange alone") {
                () throws(CofferError) in
                try curl.exchange()
            }
            let both = Peer(name: "curl, 4 × coffer token put", version: curl.peer.version)
            try await compare(runner, site, with: both, "the aim is 1 at least") {
                () throws(CofferError) in
                try curl.exchange()
                for _ in 0..<4 { try site.store() }
            }
        } else {
            runner.skip(refreshName, peer: "curl", reason: "curl is not installed")
        }
        try await compareWithGit(runner, site)
        guard let agent = try OIDCAgentPeer.start(site) else {
            return runner.skip(refreshName, peer: OIDCAgentPeer.name, reason: OIDCAgentPeer.absence)
        }
        try await compare(
            runner, site, with: agent.peer, "theirs: encrypts its account file again, with a password"
        ) { () throws(CofferError) in
            try agent.renew()
        }
    }

    private static func compareWithGit(_ runner: Runner, _ site: OAuthSite) async throws(CofferError) {
        _ = try site.ask("renewals")
        guard let git = try GitCredentialPeer.make(site), (try? git.renew()) != nil else {
            return runner.skip(
                refreshName, peer: GitCredentialPeer.name, reason: GitCredentialPeer.absence)
        }
        let renewals = try site.ask("renewals")
        let note =
            renewals == "0"
            ? "theirs: stores nothing, and signs in again with a browser that answers at once"
            : "theirs: stores nothing"
        try await compare(runner, site, with: git.peer, note) { () throws(CofferError) in
            try git.renew()
        }
    }

    private static func compare(
        _ runner: Runner, _ site: OAuthSite, with peer: Peer, _ note: String,
        theirs: () throws(CofferError) -> Void
    ) async throws(CofferError) {
        try await runner.compare(
            refreshName, with: peer, clock: .wall, note: note,
            ours: { (runs) async throws(CofferError) in
                for _ in 0..<runs { try site.run(OAuthSite.refresh) }
            },
            theirs: { (runs) async throws(CofferError) in
                for _ in 0..<runs { try theirs() }
            },
            agree: { () async throws(CofferError) -> Bool in
                try site.run(OAuthSite.refresh)
                let newest = try site.ask("token")
                let token = try site.output(OAuthSite.token)
                let refusals = try site.ask("refusals")
                return token == newest && refusals == "0"
            })
    }

    // MARK: Many processes

    private static let togetherName = "oauth-100-processes"

    private static func together(_ runner: Runner) async throws(CofferError) {
        guard !runner.quick else {
            return runner.skip(togetherName, peer: nil, reason: "takes a minute: not with --quick")
        }
        guard let site = try makeSite(togetherName, runner) else { return }
        guard let starter = try ProcessStarter.make(in: site) else {
            return runner.skip(togetherName, peer: nil, reason: "xargs is not installed")
        }
        let stored = String(repeating: VaultBench.value, count: ProcessStarter.count)
        try await runner.compare(
            togetherName, with: site.ownPeer("coffer token get"), clock: .wall,
            note: "theirs: a token that was stored by hand; the aim is at most 1 s more",
            before: { () async throws(CofferError) in
                try expire(site) { () throws(CofferError) in try site.run(OAuthSite.refresh) }
            },
            ours: { (_) async throws(CofferError) in try renewTogether(site, starter) },
            theirs: { (_) async throws(CofferError) in _ = try site.outputs(OAuthSite.get, of: starter) },
            agree: { () async throws(CofferError) -> Bool in
                try site.outputs(OAuthSite.get, of: starter) == stored
            })
        try await togetherWithAgent(runner, site, starter)
    }

    private static func togetherWithAgent(
        _ runner: Runner, _ site: OAuthSite, _ starter: ProcessStarter
    ) async throws(CofferError) {
        guard let agent = try OIDCAgentPeer.start(site) else {
            return runner.skip(togetherName, peer: OIDCAgentPeer.name, reason: OIDCAgentPeer.absence)
        }
        try await runner.compare(
            togetherName, with: agent.peer, clock: .wall,
            before: { () async throws(CofferError) in
                try expire(site) { () throws(CofferError) in
                    try agent.renew()
                    try site.run(OAuthSite.refresh)
                }
            },
            ours: { (_) async throws(CofferError) in try renewTogether(site, starter) },
            theirs: { (_) async throws(CofferError) in _ = try agent.tokens(of: starter) },
            agree: { () async throws(CofferError) -> Bool in
                let newest = try site.ask("token")
                let token = try agent.token()
                return token == newest
            })
    }

    /// Gets access tokens that have expired at once; the next ones live for an hour.
    private static func expire(
        _ site: OAuthSite, _ renewal: () throws(CofferError) -> Void
    ) throws(CofferError) {
        _ = try site.ask("life 0")
        try renewal()
        _ = try site.ask("life 3600")
        _ = try site.ask("renewals")
    }

    /// Every process prints the token of the only renewal. One run takes long enough for the clock, so that a
    /// batch has one run.
    private static func renewTogether(
        _ site: OAuthSite, _ starter: ProcessStarter
    ) throws(CofferError) {
        let printed = try site.outputs(OAuthSite.token, of: starter)
        let newest = try site.ask("token")
        let renewals = try site.ask("renewals")
        guard renewals == "1", printed == String(repeating: newest, count: ProcessStarter.count) else {
            throw CofferError(
                .internalFailure, "oauth-100-processes: there were \(renewals) renewals, not one.")
        }
    }
}
