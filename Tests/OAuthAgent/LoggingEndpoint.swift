import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferOAuth
import Foundation
import SystemPackage

/// A token endpoint that writes each request into a file and answers with the token and a plus sign.
struct LoggingEndpoint: TokenEndpoint {
    let log: FilePath
    /// Whether to wait for a line of input before the answer.
    let waits: Bool

    func refresh(
        _ refreshToken: borrowing SecretBytes, attempt: Int
    ) async throws(CofferError) -> RefreshVerdict {
        let sent = refreshToken.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        try note("\(sent) \(attempt)\n")
        if waits {
            say("asked")
            _ = readLine()
        }
        let body =
            "{\"access_token\":\"a-\(sent)\",\"token_type\":\"Bearer\",\"expires_in\":3600,"
            + "\"refresh_token\":\"\(sent)+\"}"
        return .success(try TokenResponse(body: Array(body.utf8).span))
    }

    /// Adds a line to the file. Only one process at a time does so.
    private func note(_ line: String) throws(CofferError) {
        do {
            let earlier = (try? Data(contentsOf: URL(filePath: log.string))) ?? Data()
            try (earlier + Data(line.utf8)).write(to: URL(filePath: log.string))
        } catch {
            throw CofferError(.inputOutput, "The file of requests cannot be written.")
        }
    }
}

/// Writes a line to standard output.
func say(_ line: String) {
    try? Descriptor.standardOutput().append(Array((line + "\n").utf8).span)
}
