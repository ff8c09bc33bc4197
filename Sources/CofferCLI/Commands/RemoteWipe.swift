import ArgumentParser

/// The `coffer remote-wipe` command, which groups the subcommands for signed orders.
struct RemoteWipeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote-wipe",
        abstract: "Create and check signed orders, and choose whose orders this vault accepts.",
        discussion: """
            An order is a small file, signed with an administrator's Ed25519 key, for one vault or one \
            device. A vault accepts an order only if it trusts that key, only once, and only until the order \
            expires. `coffer wipe --order FILE` executes an order that erases; `coffer remote-wipe apply \
            FILE` applies every other order.

            Errors, each with its own code in --json: exit 7 for orderMalformed, orderTooLong, \
            orderUnsupportedVersion, orderUnknownKey, orderBadSignature and orderForeign; 10 for \
            orderReplayed; 11 for orderCounterOutOfRange, orderNotYetValid and orderExpired. A refused order \
            changes nothing.
            """,
        subcommands: [
            RemoteWipeKeygen.self, RemoteWipeCreate.self, RemoteWipeVerify.self, RemoteWipeApply.self,
            RemoteWipeTrustKey.self, RemoteWipeKeys.self, RemoteWipeDistrustKey.self,
            RemoteWipeHeartbeat.self,
        ])
}
