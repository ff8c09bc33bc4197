import CofferBase

/// One name of the report and its measurement, which may have several results, one for each peer.
struct Benchmark: Sendable {
    let name: String
    let run: @Sendable (Runner) async throws(CofferError) -> Void

    init(_ name: String, _ run: @escaping @Sendable (Runner) async throws(CofferError) -> Void) {
        self.name = name
        self.run = run
    }
}

/// A peer to compare a figure with.
struct Peer: Sendable {
    let name: String
    let version: String
}
