import Coffer
import CofferBase
import CofferEngine
import SystemPackage

/// The time until the keys are destroyed.
enum WipeBenchmarks {
    static let all: [Benchmark] = [Benchmark("wipe-keys/10GiB", keys)]

    private static let samples = 9
    private static let files = 160
    private static let size: Int64 = 64 << 20

    /// The time from the call until every key is destroyed, in a vault with 10 GiB in 160 containers. The
    /// containers are sparse, because a wipe does not read them.
    private static func keys(_ runner: Runner) async throws(CofferError) {
        // On a disk, because flushing the overwritten data is what takes time.
        let workspace = try Workspace.make(onDisk: true)
        defer { workspace.remove() }
        var values: [Double] = []
        for sample in 0..<samples {
            let (session, location) = try await VaultBench.session(
                "wipe-\(sample)", tokens: 10, in: workspace)
            try fill(location.path.appending("vault").appending("files"))
            let start = Clock.sinceBoot
            let wipe = session.startWipe(reason: "bench")
            var end: Duration?
            for await progress in wipe where progress.step == .keys && end == nil { end = Clock.sinceBoot }
            let receipt = try await wipe.receipt
            guard let end, receipt.removed["files"] == files else {
                throw CofferError(.internalFailure, "wipe-keys: the wipe did not find its files.")
            }
            let parts = (end - start).components
            values.append(Double(parts.seconds) * 1e9 + Double(parts.attoseconds) / 1e9)
        }
        runner.record(
            "wipe-keys/10GiB", unit: "ns", values: values, note: "\(files) sparse containers, on a disk")
    }

    private static func fill(_ path: FilePath) throws(CofferError) {
        let directory = try Descriptor.open(path, [.read, .directory])
        for number in 0..<files {
            let name = FilePath("00000000-0000-4000-8000-\(100_000_000_000 + number).coffer")
            let file = try directory.open(name, [.readWrite, .exclusive])
            try file.truncate(to: size)
        }
    }
}
