import ArgumentParser

/// `coffer remote-wipe`
struct RemoteWipeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote-wipe",
        abstract: "Signed orders: make and check them, and say whose orders this vault takes.",
        discussion: """
            An order is a small file, signed with an administrator's Ed25519 key, for one vault or for one \
            device. A vault takes it when it trusts that key, once, and until it expires. `coffer wipe \
            --order FILE` erases; `coffer remote-wipe apply FILE` takes every other order.

            Errors, each with a code of its own in --json: exit 7 for orderMalformed, orderTooLong, \
            orderUnsupportedVersion, orderUnknownKey, orderBadSignature and orderForeign; 10 for \
            orderReplayed; 11 for orderCounterOutOfRange, orderNotYetValid and orderExpired. Whatever is \
            refused changes nothing.
            """,
        subcommands: [
            RemoteWipeKeygen.self, RemoteWipeCreate.self, RemoteWipeVerify.self, RemoteWipeApply.self,
            RemoteWipeTrustKey.self, RemoteWipeKeys.self, RemoteWipeDistrustKey.self,
            RemoteWipeHeartbeat.self,
        ])
}
