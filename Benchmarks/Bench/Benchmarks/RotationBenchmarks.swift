import Coffer
import CofferBase
import CofferEngine
import SystemPackage

/// The time of a rotation of all keys.
enum RotationBenchmarks {
    static let all: [Benchmark] = [
        Benchmark("rotate-tokens/10000") { (runner) async throws(CofferError) in
            try await rotate(runner, "rotate-tokens/10000", tokens: count, files: 0, "aim: at most 0.5 s")
        },
        Benchmark("rotate-all/10000") { (runner) async throws(CofferError) in
            try await rotate(
                runner, "rotate-all/10000", tokens: count, files: count,
                "\(count) tokens and \(count) files; aim: at most 2 s")
        },
    ]

    private static let count = 10_000
    private static let samples = 5

    private static func rotate(
        _ runner: Runner, _ name: String, tokens: Int, files: Int, _ note: String
    ) async throws(CofferError) {
        let made = try await VaultBench.session(
            name.filter(\.isLetter), tokens: 0, in: runner.files())
        let vault = made.session
        try await fill(vault, tokens: tokens, files: files)
        var values: [Double] = []
        for _ in 0..<samples {
            let start = Clock.sinceBoot
            let report = try await vault.rotateKeys()
            let parts = (Clock.sinceBoot - start).components
            guard report.isComplete, report.tokens == tokens, report.files == files else {
                throw CofferError(.internalFailure, "\(name): the rotation did not find its items.")
            }
            values.append(Double(parts.seconds) * 1e9 + Double(parts.attoseconds) / 1e9)
        }
        runner.record(name, unit: "ns", values: values, note: note)
        vault.close()
    }

    /// The number of tokens that may be pending at a time.
    private static let batch = 256

    /// Stores tokens and small files. Pending tokens are stored together at an unlock, so the token file is
    /// written once for many of them.
    private static func fill(_ vault: Vault, tokens: Int, files: Int) async throws(CofferError) {
        for start in stride(from: 0, to: tokens, by: batch) {
            vault.lock()
            for number in start..<min(start + batch, tokens) {
                try await vault.tokens.put(Token(copying: VaultBench.value), for: VaultBench.id(number))
            }
            try await vault.unlock()
        }
        for number in 0..<files {
            guard let name = FilePath.Component("file-\(number)") else { continue }
            _ = try await vault.files.add([UInt8](repeating: 7, count: 64), name: name)
        }
    }
}
