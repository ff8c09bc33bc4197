/// Every benchmark, in the order of the report. A new file of benchmarks adds its list here.
enum Catalogue {
    static let all: [Benchmark] =
        DerivationBenchmarks.all + CipherBenchmarks.all + FileBenchmarks.all
        + VaultBenchmarks.all + WipeBenchmarks.all + DatabaseBenchmarks.all
}
