import BenchPeers
import CofferBase
import CofferCrypto
import CofferEngine

/// `gocryptfs -speed`: AES-256-GCM over file system blocks, timed by the program itself.
struct GocryptfsPeer: Sendable {
    /// The size of its blocks in bytes.
    static let blockSize = 4096
    static let benchmark = Benchmark("gcm-seal/\(blockSize)", compare)

    private let program: PeerProgram
    private let peer: Peer

    private static func compare(_ runner: Runner) async throws(CofferError) {
        guard let program = PeerProgram.find("gocryptfs") else {
            return runner.skip(benchmark.name, peer: "gocryptfs", reason: "gocryptfs is not installed")
        }
        guard !runner.quick else {
            return runner.skip(benchmark.name, peer: "gocryptfs", reason: "takes a minute: not with --quick")
        }
        let found = GocryptfsPeer(
            program: program,
            peer: Peer(name: "gocryptfs", version: program.version() ?? "unknown"))
        let plaintext = try SecureRandom.bytes(blockSize)
        let nonce = try SecureRandom.bytes(AEAD.Algorithm.aes256GCM.nonceSize)
        var cipher = try UnsafeNonceAEAD.prepare(.aes256GCM, key: .random())
        var sealed = [UInt8](repeating: 0, count: blockSize + AEAD.tagSize)
        try await runner.compare(
            benchmark.name, withFiguresOf: found.peer,
            ours: { (count) async throws(CofferError) in
                for _ in 0..<count {
                    var span = sealed.mutableSpan
                    try cipher.seal(
                        plaintext.span, nonce: nonce.span, associatedData: Span(), into: &span)
                }
            },
            theirs: found.nanoseconds)
    }

    /// The time that its fastest AES-256-GCM takes for one block.
    private func nanoseconds() throws(CofferError) -> Double {
        let text = try program.output(["-speed"], deadline: .seconds(120))
        let speeds = text.split(separator: "\n").filter { $0.hasPrefix("AES-GCM-256") }.compactMap { line in
            line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
        }
        guard let speed = speeds.max(), speed > 0 else {
            throw CofferError(.internalFailure, "gocryptfs -speed does not report AES-GCM-256.")
        }
        return Double(Self.blockSize) / (speed * 1e6) * 1e9
    }
}
