package import CofferBase
import CofferEngine
import CofferVault
import FoundationEssentials

/// A database's key, with the attributes that are stored with it.
package struct DatabaseKeyValue: Sendable {
    package let token: Token
    let attributes: [String: String]

    package init(_ token: Token, attributes: [String: String]) {
        (self.token, self.attributes) = (token, attributes)
    }
}

/// Methods that replace a stored key of a database. They keep its class. All of them block.
extension TokenStore {
    /// Throws unless the stored keys of databases can be replaced now.
    ///
    /// - Throws: `unsupported` if the Secret Service stores them: it does not say when they are on the disk;
    ///   `wiped`, `busy`, `readOnly`.
    package func requireReplaceableDatabaseKeys() throws(CofferError) {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in try requireFile() }
    }

    private func requireFile() throws(CofferError) {
        guard try core.activeStorage.backend() == .file else {
            throw CofferError(
                .unsupported,
                "The Secret Service holds the keys of this vault's databases, and does not say when a new "
                    + "one is on the disk. The databases keep their keys. Copy them to new databases, or "
                    + "move the keys into the vault's own file first.")
        }
    }

    /// Replaces a database's key together with its file, while no other process changes the vault.
    ///
    /// Every step is on the disk before the next one. After an interruption, the stored key is the old one,
    /// `both` or the new one.
    ///
    /// - Parameters:
    ///   - id: The name of the stored key.
    ///   - old: The key that must be stored.
    ///   - both: The value to store until the file is replaced, from which either key can be taken.
    ///   - new: The new key.
    ///   - replaceFile: A function that gives the database's name to the file under the new key, durably.
    /// - Throws: `conflict` if another key is stored, or none; `unsupported` if the Secret Service stores the
    ///   key; `locked`, `wiped`, `busy`, `noSpace`, `readOnly`; the error of `replaceFile`.
    package func replaceDatabaseKey(
        _ id: TokenID, _ old: Token, through both: DatabaseKeyValue, to new: DatabaseKeyValue,
        _ replaceFile: () throws(CofferError) -> Void
    ) throws(CofferError) {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try requireFile()
            try update(id, old, to: both)
            try replaceFile()
            try update(id, both.token, to: new)
        }
    }

    /// Replaces what an interrupted ``replaceDatabaseKey(_:_:through:to:_:)`` left, while no other process
    /// changes the vault.
    ///
    /// - Parameters:
    ///   - id: The name of the stored key.
    ///   - both: The value that must be stored.
    ///   - decide: A function that returns the key of the file that durably has the database's name.
    /// - Throws: `conflict` if another key is stored, or none; `locked`, `wiped`, `busy`, `noSpace`,
    ///   `readOnly`; the error of `decide`.
    package func settleDatabaseKey(
        _ id: TokenID, _ both: Token, _ decide: () throws(CofferError) -> DatabaseKeyValue
    ) throws(CofferError) {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            _ = try requireStored(id, both)
            try update(id, both, to: try decide())
        }
    }

    private func update(_ id: TokenID, _ old: Token, to value: DatabaseKeyValue) throws(CofferError) {
        let found = try requireStored(id, old)
        let new = NewTokenInfo(
            id: id, stored: Date(nanosecondsSince1970: core.clock.wallClock().nanoseconds),
            protection: found.protection, defaultClass: .standard, expires: nil, scopes: [],
            attributes: value.attributes)
        _ = try store(
            value.token, new, name: name(of: id), .version(found.version ?? 0), isEphemeral: false)
    }

    /// Returns the description of a stored key, which must be `key`. A version alone would not tell the key
    /// of a database that was removed from that of a new one of the same name.
    private func requireStored(_ id: TokenID, _ key: Token) throws(CofferError) -> TokenInfo {
        guard let found = try stored(id), found.token.hasSameBytes(as: key) else {
            throw CofferError(
                .conflict, "The key to the database \(id.account) was changed meanwhile. Try again.")
        }
        return found.info
    }
}

extension Token {
    /// Compares the bytes in a time that depends only on their number.
    package func hasSameBytes(as other: Token) -> Bool {
        exposing { own in other.exposing { ConstantTime.equal(own, $0) } }
    }
}
