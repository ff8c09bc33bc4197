enum FileBenchmarks {
    static let all: [Benchmark] = []
}
