import CofferBase
import CofferEngine
import CofferVault
import FoundationEssentials

extension VaultCore {
    /// Returns the current key pairs, sorted by the bytes of the alias.
    func keyPairsByAlias() throws(CofferError) -> [KeyPair] {
        try KeyPairFile(device: device).read(in: home.openVault()).sortedPairs.filter { $0.role == .current }
    }

    /// Returns the states of the certificates that key pairs have or await.
    func certificates(of pairs: [KeyPair]) throws(CofferError) -> [CertificateStatus] {
        let now = Date(timeIntervalSince1970: Double(clock.wallClock().components.seconds))
        var found: [CertificateStatus] = []
        for pair in pairs {
            if let status = try pair.certificateStatus(at: now) { found.append(status) }
        }
        return found
    }

    /// Checks whether the key pairs can be read and how long their certificates are valid; empty without key
    /// pairs.
    func keyPairChecks() -> [SecurityCheck] {
        Vault.checked("key-pairs") { () throws(CofferError) in
            let pairs = try keyPairsByAlias()
            let count = pairs.count
            guard count > 0 else { return [] }
            return [
                SecurityCheck(
                    "key-pairs", .ok,
                    "The vault has \(count) key pair\(count == 1 ? "" : "s"). No backup contains a "
                        + "private key, so losing this vault means losing "
                        + (count == 1 ? "it." : "them."))
            ] + (try certificates(of: pairs)).compactMap(Self.check)
        }
    }

    /// Returns the check of one certificate; `nil` while it is valid for more than 30 days.
    private static func check(_ certificate: CertificateStatus) -> SecurityCheck? {
        guard certificate.warning != nil || certificate.state == .notYetValid else { return nil }
        return SecurityCheck(
            "key-certificate", certificate.state == .expired ? .missing : .advisory, certificate.sentence,
            remedy: certificate.state == .notYetValid ? nil : .renewCertificate)
    }
}
