import Coffer
import CofferEngineSQLite

extension Vault {
    /// Has the vault revoke a database's key when it evicts the database's class key, even if the program
    /// still holds the database, or copies it.
    func revokeOnEviction(_ handle: DatabaseKeyHandle, with protection: ProtectionClass) {
        onKeyEviction(while: handle) { [weak handle] lost in
            if lost.contains(protection) { handle?.revoke() }
        }
    }
}
