package import CofferBase
package import FoundationEssentials

/// The checks that a vault makes on anything that an administrator signed, based on the pinned keys, the
/// vault's identity, the counter it has seen, and the time.
package struct SignedDocumentRules {
    let keys: [AdministratorKey]
    let vaultID: UUID
    /// The machine's identity; `nil` if the machine has none.
    let deviceID: DeviceID?
    /// The time of the check, in seconds since 1970.
    let now: UInt64

    package init(keys: [AdministratorKey], vaultID: UUID, deviceID: DeviceID?, now: UInt64) {
        self.keys = keys
        self.vaultID = vaultID
        self.deviceID = deviceID
        self.now = now
    }

    /// Creates the rules that a document for any target meets.
    init(keys: [AdministratorKey], meeting target: RemoteCommand.Target, at date: Date) {
        self.keys = keys
        now = CommandEncoding.seconds(date) ?? 0
        switch target {
        case .vault(let id): (vaultID, deviceID) = (id, nil)
        case .device(let id): (vaultID, deviceID) = (UUID(), id)
        }
    }

    /// Throws the reason for a refusal of a policy. The counter of the last policy that was taken is `last`,
    /// or 0 if there is none.
    package func verify(_ policy: SignedPolicy, after last: UInt64) throws(CofferError) {
        if let refusal = try refusal(of: policy, after: last) { throw refusal.reason }
    }

    /// Runs the checks in a fixed sequence. Returns a refusal with the error code of the first check that
    /// failed; `nil` if none failed.
    func refusal(
        of document: some SignedDocument, after last: UInt64
    ) throws(CofferError) -> CommandRefusal? {
        let isSigned = keys.contains(document.claimedSigner) ? try document.hasValidSignature() : false
        do throws(CommandRefusal) {
            try check(document, isSigned: isSigned, after: last)
            return nil
        } catch {
            return error
        }
    }

    private func check<Document: SignedDocument>(
        _ document: Document, isSigned: Bool, after last: UInt64
    ) throws(CommandRefusal) {
        let noun = Document.noun
        guard keys.contains(document.claimedSigner) else {
            throw CommandRefusal(
                .orderUnknownKey, "The \(noun) is signed with a key that is not pinned in this vault.")
        }
        guard isSigned else {
            throw CommandRefusal(.orderBadSignature, "The signature does not match the \(noun)'s key.")
        }
        guard matches(document.target) else {
            throw CommandRefusal(
                .orderForeign, "The \(noun) is intended for another vault or another device.")
        }
        guard RemoteCommand.counters.contains(document.counter) else {
            throw CommandRefusal(
                .orderCounterOutOfRange, "The \(noun)'s counter, \(document.counter), is out of range.")
        }
        guard document.counter > last else {
            throw CommandRefusal(
                .orderReplayed,
                "The \(noun)'s counter is \(document.counter), but a \(noun) with the counter \(last) was "
                    + "already accepted.")
        }
        guard let issued = CommandEncoding.seconds(document.issued), issued <= now else {
            throw CommandRefusal(
                .orderNotYetValid, "The \(noun) is not valid yet according to this machine's clock.")
        }
        guard let expires = CommandEncoding.seconds(document.expires), now < expires else {
            throw CommandRefusal(.orderExpired, "The \(noun) has expired.")
        }
    }

    private func matches(_ target: RemoteCommand.Target) -> Bool {
        switch target {
        case .vault(let id): id == vaultID
        case .device(let id): id == deviceID
        }
    }
}
