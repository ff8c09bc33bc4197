import Coffer
import CofferBase

extension TokenStore {
    /// Returns the error for a token that does not exist. The error lists any other kinds of token that are
    /// stored for the same service and account.
    func absence(of id: TokenID) async -> CofferError {
        var kinds: [String] = []
        for kind in TokenKind.allCases where kind != id.kind {
            guard let other = try? TokenID(service: id.service, account: id.account, kind: kind),
                (try? await info(for: other)) != nil
            else { continue }
            kinds.append("--kind \(kind.name)")
        }
        guard !kinds.isEmpty else {
            return CofferError(
                .absent,
                "There is no \(id.kind.name) token for \(id.service)/\(id.account). To list all tokens, "
                    + "run coffer token list.")
        }
        return CofferError(
            .absent,
            "This service and account have no token of the kind \(id.kind.name), but one of another "
                + "kind. Specify \(kinds.joined(separator: " or ")).")
    }
}
