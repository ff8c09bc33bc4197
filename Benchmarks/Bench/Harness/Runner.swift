import BenchPeers
import BenchReport
import CofferBase

/// Takes the samples, prints each result at once and keeps it for the report.
final class Runner {
    /// Whether samples are fewer and shorter, and large files smaller.
    let quick: Bool
    private(set) var results: [Measurement] = []
    private(set) var skipped: [Skip] = []
    private var workspace: Workspace?
    private var diskWorkspace: Workspace?

    init(quick: Bool) { self.quick = quick }

    /// Calls are timed in batches: the closures below run their work `count` times.
    typealias Work = (_ count: Int) async throws(CofferError) -> Void

    /// Measures ours against theirs in turn, A B A B, with one batch size for both.
    ///
    /// `before` runs ahead of every sample and is not timed. `agree` returns whether both results are equal.
    /// It is called before and after, so that neither side can have been wrong or optimised away.
    func compare(
        _ name: String, with peer: Peer, clock: Stopwatch = .processor, note: String? = nil,
        before: () async throws(CofferError) -> Void = {}, ours: Work, theirs: Work,
        agree: () async throws(CofferError) -> Bool
    ) async throws(CofferError) {
        try await before()
        try await ours(1)
        try await theirs(1)
        try await check(agree, name)
        var count = 1
        var seconds = 0.0
        repeat {
            try await before()
            seconds = try await clock.time(count, ours)
            seconds = min(seconds, try await clock.time(count, theirs))
        } while enlarge(&count, seconds: seconds)
        var own: [Double] = []
        var other: [Double] = []
        for _ in 0..<sampleCount(seconds) {
            try await before()
            own.append(try await clock.time(count, ours) * 1e9 / Double(count))
            other.append(try await clock.time(count, theirs) * 1e9 / Double(count))
        }
        try await check(agree, name)
        keep(
            Measurement(
                name: name, peer: peer.name, peerVersion: peer.version, unit: "ns",
                ours: Distribution(own), theirs: Distribution(other), samples: own.count, note: note))
    }

    /// Measures ours against a peer that times itself: `theirs` returns nanoseconds per operation.
    func compare(
        _ name: String, withFiguresOf peer: Peer, note: String? = nil, ours: Work,
        theirs: () throws(CofferError) -> Double
    ) async throws(CofferError) {
        var count = 1
        var seconds = 0.0
        repeat {
            seconds = try await Stopwatch.wall.time(count, ours)
        } while enlarge(&count, seconds: seconds)
        var own: [Double] = []
        var other: [Double] = []
        for _ in 0..<9 {
            own.append(try await Stopwatch.wall.time(count, ours) * 1e9 / Double(count))
            other.append(try theirs())
        }
        keep(
            Measurement(
                name: name, peer: peer.name, peerVersion: peer.version, unit: "ns",
                ours: Distribution(own), theirs: Distribution(other), samples: own.count, note: note))
    }

    /// Measures an operation without a peer.
    func measure(
        _ name: String, clock: Stopwatch = .processor, note: String? = nil, ours: Work
    ) async throws(CofferError) {
        var count = 1
        var seconds = 0.0
        repeat { seconds = try await clock.time(count, ours) } while enlarge(&count, seconds: seconds)
        var own: [Double] = []
        for _ in 0..<sampleCount(seconds) {
            own.append(try await clock.time(count, ours) * 1e9 / Double(count))
        }
        keep(Measurement(name: name, unit: "ns", ours: Distribution(own), samples: own.count, note: note))
    }

    /// Records figures that are not times, such as bytes of memory.
    func record(_ name: String, unit: String, values: [Double], note: String? = nil) {
        keep(
            Measurement(name: name, unit: unit, ours: Distribution(values), samples: values.count, note: note)
        )
    }

    /// Reports that a figure is missing, and why.
    func skip(_ name: String, peer: String?, reason: String) {
        skipped.append(Skip(name: name, peer: peer, reason: reason))
        OwnProcess.show(Table.row(skipped[skipped.count - 1]))
    }

    /// A directory for large files, created on first use and removed at the end.
    func files() throws(CofferError) -> Workspace {
        if let workspace { return workspace }
        let made = try Workspace.make()
        workspace = made
        return made
    }

    /// A directory on a disk, created and removed likewise.
    func filesOnDisk() throws(CofferError) -> Workspace {
        if let diskWorkspace { return diskWorkspace }
        let made = try Workspace.make(onDisk: true)
        diskWorkspace = made
        return made
    }

    /// Removes the benchmarks' directories.
    func close() {
        workspace?.remove()
        workspace = nil
        diskWorkspace?.remove()
        diskWorkspace = nil
    }

    private func keep(_ result: Measurement) {
        results.append(result)
        OwnProcess.show(Table.row(result))
    }

    private func check(_ agree: () async throws(CofferError) -> Bool, _ name: String)
        async throws(CofferError)
    {
        guard try await agree() else {
            throw CofferError(.internalFailure, "\(name): our result and the peer's differ.")
        }
    }

    /// Enlarges the batch if `count` runs were too short for the clock, and returns whether it did. Also
    /// serves as the warm-up.
    private func enlarge(_ count: inout Int, seconds: Double) -> Bool {
        let target = quick ? 0.004 : 0.015
        guard seconds < target else { return false }
        let factor = seconds > 0 ? target * 1.2 / seconds : 16
        count = max(count + 1, Int(Double(count) * min(factor, 16)))
        return true
    }

    /// At least 9; more if samples are short.
    private func sampleCount(_ seconds: Double) -> Int { quick || seconds > 0.05 ? 9 : 25 }
}
