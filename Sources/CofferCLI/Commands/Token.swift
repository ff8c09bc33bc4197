import ArgumentParser

/// The `coffer token` command, which groups the subcommands for stored tokens.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: """
            Store tokens: put, get, list, remove, rename, copy, refresh, accept, reject, purge-corrupt.
            """,
        subcommands: [
            TokenPut.self, TokenGet.self, TokenList.self, TokenRemove.self, TokenRename.self,
            TokenCopy.self, TokenRefresh.self, TokenAccept.self, TokenReject.self, TokenPurgeCorrupt.self,
        ])
}
