import CofferBase

/// One name of the report and its measurement, which may have several results, one for each peer.
struct Benchmark: Sendable {
    let name: String
    /// The names of its results.
    let figures: [String]
    let run: @Sendable (Runner) async throws(CofferError) -> Void

    /// Creates a benchmark whose results have its name; `others` are the names of what it measures besides.
    init(
        _ name: String, and others: [String] = [],
        _ run: @escaping @Sendable (Runner) async throws(CofferError) -> Void
    ) {
        self.name = name
        figures = [name] + others
        self.run = run
    }
}

/// A peer to compare a figure with.
struct Peer: Sendable {
    let name: String
    let version: String
}
