import CofferBase
import CofferVault

extension VaultCore {
    /// Checks the anchors and names the strongest one.
    func anchorChecks() -> [SecurityCheck] {
        let name = "anchors"
        return Vault.checked(name) { () throws(CofferError) in
            let anchors = try anchorStatuses()
            let problems = anchors.compactMap(\.problem)
            guard problems.isEmpty else {
                return problems.map { SecurityCheck(name, .missing, $0.message, remedy: $0.remedy) }
            }
            try home.mappingMissingFiles { () throws(CofferError) in try checkAnchors(in: home.openVault()) }
            return [try anchorCheck(name, anchors)]
        }
    }

    private func anchorCheck(
        _ name: String, _ anchors: [AnchorStatus]
    ) throws(CofferError) -> SecurityCheck {
        switch anchors.first?.kind {
        case nil:
            return SecurityCheck(
                name, .advisory,
                "There is no anchor, so an older copy of the vault that is put back opens unnoticed.",
                remedy: .setAnchor)
        case .file?:
            let path = anchors.first?.path ?? ""
            return SecurityCheck(
                name, .ok,
                "The file \(path) shows an older copy of the vault, unless an older copy of both is put back."
            )
        case .secretService?:
            return SecurityCheck(
                name, .advisory,
                "The strongest anchor is the attempt counter in the Secret Service: it shows an older copy "
                    + "of the vault only when a passcode is tried after another one was.", remedy: .setAnchor)
        case .kernelKeyring?:
            return SecurityCheck(
                name, .advisory,
                "The strongest anchor is the kernel keyring: after a reboot, an older copy of the vault "
                    + "opens unnoticed.", remedy: .setAnchor)
        case .receipt?:
            return SecurityCheck(
                name, .advisory,
                "The strongest anchor is a receipt: an older copy of the vault is noticed only by anyone who "
                    + "checks it.", remedy: .setAnchor)
        }
    }
}
