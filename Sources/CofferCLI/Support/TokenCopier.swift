import ArgumentParser
import Coffer
import CofferBase
import CofferEngine

/// A token's new name on the command line.
struct NewTokenName: ParsableArguments {
    @Argument(help: "The new service.")
    var newService: String

    @Argument(help: "The new account.")
    var newAccount: String

    func id(kind: TokenKind) throws(CofferError) -> TokenID {
        guard ProgramArguments.isText(newService), ProgramArguments.isText(newAccount) else {
            throw CofferError(.invalidInput, "The service and the account must be UTF-8.")
        }
        return try TokenID(service: newService, account: newAccount, kind: kind)
    }
}

/// Copies a token to another name, or renames it by copying it and removing the original.
struct TokenCopier {
    let tokens: TokenStore
    let old: TokenID
    let new: TokenID

    init(_ tokens: TokenStore, from old: TokenID, to new: TokenID) throws(CofferError) {
        guard old != new else {
            throw CofferError(.invalidInput, "The new name must differ from the old one.")
        }
        try ReservedServices.check(old)
        self.tokens = tokens
        self.old = old
        self.new = new
    }

    /// Copies the value and its description; never replaces a token. Returns the copy's version.
    func copy() async throws(CofferError) -> UInt64 { try await copied().version }

    /// Copies the token and then removes it, so that an interruption loses nothing. Returns the version under
    /// the new name.
    func rename() async throws(CofferError) -> UInt64 {
        guard try await !tokens.pending().contains(where: { $0.info.id == old }) else {
            throw CofferError(
                .conflict,
                "Values that arrived while locked are waiting under this name; nothing was changed. Accept "
                    + "or reject them first: see coffer token list.")
        }
        let copy = try await copied()
        do throws(CofferError) {
            guard try await tokens.remove(old, ifVersion: copy.source.version) else {
                throw await tokens.absence(of: old)
            }
        } catch {
            // Another process changed or removed the token: its old value must not stay under the new name.
            _ = try? await tokens.remove(new, ifVersion: copy.version)
            throw error
        }
        return copy.version
    }

    private func copied() async throws(CofferError) -> (source: TokenInfo, version: UInt64) {
        guard let found = try await tokens.get(old) else { throw await tokens.absence(of: old) }
        let info = found.info
        do throws(CofferError) {
            let result = try await tokens.put(
                found.token, for: new, class: info.protection, expires: info.expires, scopes: info.scopes,
                attributes: info.attributes, isEphemeral: info.isEphemeral, precondition: .absent)
            if info.isStoredWhileLocked {
                Output.message("coffer: this token arrived while locked; the new one is not marked as such.")
            }
            return (info, result.version ?? 0)
        } catch {
            guard error.code == .conflict else { throw error }
            throw CofferError(
                .alreadyExists,
                "A token with the new name already exists; nothing was changed. Remove that token first.")
        }
    }
}
