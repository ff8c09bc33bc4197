import CofferBase

/// One name of the report and what measures it; several results may come of it, one for each peer.
struct Benchmark: Sendable {
    let name: String
    let run: @Sendable (Runner) async throws(CofferError) -> Void

    init(_ name: String, _ run: @escaping @Sendable (Runner) async throws(CofferError) -> Void) {
        self.name = name
        self.run = run
    }
}

/// Whom a figure is measured against.
struct Peer: Sendable {
    let name: String
    let version: String
}
