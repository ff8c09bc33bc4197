import BenchReport

/// Every benchmark, in the order of the report. A new file of benchmarks adds its list here.
enum Catalogue {
    static let all: [Benchmark] =
        DerivationBenchmarks.all + CipherBenchmarks.all + FileBenchmarks.all + AgeBenchmarks.all
        + VaultBenchmarks.all + OAuthBenchmarks.all + OAuthLibraryBenchmarks.all + WipeBenchmarks.all
        + RotationBenchmarks.all + BackupBenchmarks.all + DatabaseBenchmarks.all + KeyPairBenchmarks.all

    /// The names of results without a sentence that says what they mean.
    static var unexplained: [String] { all.flatMap(\.figures).filter { Meaning.of($0) == nil } }
}
