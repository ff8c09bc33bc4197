import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The options for a token's new name.
struct NewTokenName: ParsableArguments {
    @Argument(help: "The new service.", completion: NameCompletion.service)
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

/// An operation that copies or moves a token to another name.
struct TokenCopier {
    let tokens: TokenStore
    let old: TokenID
    let new: TokenID

    init(_ tokens: TokenStore, from old: TokenID, to new: TokenID) throws(CofferError) {
        guard old != new else {
            throw CofferError(.invalidInput, "The new name must differ from the old one.")
        }
        try ReservedServices.check(old)
        try ReservedServices.checkIsWritable(new)
        self.tokens = tokens
        self.old = old
        self.new = new
    }

    /// Moves the token. Returns the token's version under the new name.
    func rename() async throws(CofferError) -> UInt64 {
        do throws(CofferError) {
            return try await tokens.rename(old, to: new)
        } catch {
            switch error.code {
            case .absent: throw await tokens.absence(of: old)
            case .conflict:
                throw CofferError(.conflict, error.message + " To list all tokens, run coffer token list.")
            default: throw error
            }
        }
    }

    /// Copies the token's value and description. Never replaces another token. Returns the copy's version.
    func copy() async throws(CofferError) -> UInt64 {
        guard let found = try await tokens.get(old) else { throw await tokens.absence(of: old) }
        let info = found.info
        do throws(CofferError) {
            let result = try await tokens.put(
                found.token, for: new, class: info.protection, expires: info.expires, scopes: info.scopes,
                attributes: info.attributes, isEphemeral: info.isEphemeral, precondition: .absent)
            if info.isStoredWhileLocked {
                Output.message(
                    "coffer: The token arrived while the vault was locked, but the new token is not "
                        + "marked as such.")
            }
            return result.version ?? 0
        } catch {
            guard error.code == .conflict else { throw error }
            throw CofferError(
                .alreadyExists,
                "A token with the new name already exists. Remove that token first, then try again.")
        }
    }
}
