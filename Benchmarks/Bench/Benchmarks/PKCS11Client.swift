import BenchPeers
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// A client of PKCS #11 in a process of its own, with a key for P-256 of a token that another process serves.
struct PKCS11Client: Sendable {
    /// The message whose digest is signed.
    static let message = Array("a message of the benchmark".utf8)

    private static let deadline = Duration.seconds(120)
    private let conversation: PeerConversation
    private let digest: String
    private let point: [UInt8]
    /// The release of SoftHSM; empty for a vault.
    let version: String

    private init(_ words: [String]) throws(CofferError) {
        let root = FilePath(#filePath).removingLastComponent().removingLastComponent()
            .removingLastComponent().removingLastComponent()
        guard let python = PeerProgram.find("python3") else {
            throw CofferError(.unsupported, "python3 is missing.")
        }
        let script = root.appending("Benchmarks/pkcs11_client.py").string
        conversation = try PeerConversation.start(python, [script] + words)
        digest = PeerConversation.hex(try Digest.sha256.hash(Self.message.span))
        point = try Self.bytes(Self.ask(conversation, "point"))
        version = try Self.ask(conversation, "version")
    }

    /// Starts a client of the vault in a directory.
    static func ofVault(_ home: FilePath, in folder: FilePath) throws(CofferError) -> PKCS11Client {
        let place = FilePath(try OwnProcess.executable()).removingLastComponent()
        for name in ["coffer", "coffer-pkcs11"] where PeerProgram.at(place.appending(name).string) == nil {
            throw CofferError(.unsupported, "\(name) is missing.")
        }
        return try PKCS11Client(["ours", place.appending("coffer").string, home.string, folder.string])
    }

    /// Starts a client of a new token of SoftHSM.
    static func ofSoftHSM(in folder: FilePath) throws(CofferError) -> PKCS11Client {
        try PKCS11Client(["theirs", folder.string])
    }

    private static func bytes(_ text: String) throws(CofferError) -> [UInt8] {
        guard let bytes = HexText.decode(text) else {
            throw CofferError(.internalFailure, "The client of PKCS #11 answers something else.")
        }
        return bytes
    }

    private static func ask(
        _ conversation: PeerConversation, _ line: String
    ) throws(CofferError) -> String {
        let answer = try conversation.ask(line, deadline: deadline)
        guard answer.hasPrefix("ok ") else {
            throw CofferError(.internalFailure, "The client of PKCS #11: \(answer).")
        }
        return String(answer.dropFirst(3))
    }

    /// Has the token sign this many times; returns the last signature.
    @discardableResult
    func sign(_ count: Int) throws(CofferError) -> [UInt8] {
        try Self.bytes(Self.ask(conversation, "sign \(count) \(digest)"))
    }

    /// Whether a signature of the token is valid.
    func isValid() throws(CofferError) -> Bool {
        let signature = try sign(1)
        return try ECDSAP256.isValid(
            signature: signature.span, for: Self.message.span, publicKey: point.span)
    }
}
