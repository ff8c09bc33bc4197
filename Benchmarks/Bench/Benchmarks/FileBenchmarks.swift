import BenchPeers
import CofferBase
import CofferEngine
import SystemPackage

/// Large files, from memory to memory if the system has a memory file system.
enum FileBenchmarks {
    static let all: [Benchmark] = [
        Benchmark("file-seal/1GiB", seal), Benchmark("file-open/1GiB", open),
        Benchmark("view-copy/100MiB", viewCopy), Benchmark("file-random-read/4KiB", randomRead),
        Benchmark("file-seal-memory/10GiB", sealMemory), Benchmark("file-rewrap/10GiB", rewrap),
        Benchmark("file-list/10000", list),
    ]

    private static func seal(_ runner: Runner) async throws(CofferError) {
        guard let bench = try await FileBench.make(runner, "file-seal/1GiB", size: 1 << 30) else { return }
        let sealed = bench.workspace.file("sealed")
        let theirs = bench.workspace.file("theirs")
        let opened = bench.workspace.file("opened")
        let ours: Runner.Work = { (_) async throws(CofferError) in
            try await bench.store.seal(bench.plain, sealed)
        }
        let clear = { () async throws(CofferError) in
            try await bench.store.discard(sealed)
            try bench.workspace.remove(theirs, opened)
        }
        if let age = try bench.age(runner) {
            try await runner.compare(
                bench.name, with: age.peer, clock: .wall, note: bench.note, before: clear, ours: ours,
                theirs: { (_) async throws(CofferError) in try age.seal(bench.plain, to: theirs) },
                agree: { () async throws(CofferError) in
                    try await bench.store.open(sealed, opened)
                    guard try bench.workspace.same(opened, bench.plain) else { return false }
                    try age.open(theirs, to: opened)
                    return try bench.workspace.same(opened, bench.plain)
                })
        }
        if let copy = bench.copy(runner) {
            try await runner.compare(
                bench.name, with: copy.peer, clock: .wall, note: bench.note, before: clear, ours: ours,
                theirs: { (_) async throws(CofferError) in try copy.copy(bench.plain, to: theirs) },
                agree: { () async throws(CofferError) in try bench.workspace.same(theirs, bench.plain) })
        }
        try await clear()
    }

    private static func open(_ runner: Runner) async throws(CofferError) {
        guard let bench = try await FileBench.make(runner, "file-open/1GiB", size: 1 << 30) else { return }
        let sealed = bench.workspace.file("sealed")
        let opened = bench.workspace.file("opened")
        let theirs = bench.workspace.file("theirs")
        try await bench.store.seal(bench.plain, sealed)
        let ours: Runner.Work = { (_) async throws(CofferError) in try await bench.store.open(sealed, opened)
        }
        let agree = { () async throws(CofferError) in
            let first = try bench.workspace.same(opened, bench.plain)
            let second = try bench.workspace.same(theirs, bench.plain)
            return first && second
        }
        let clear = { () async throws(CofferError) in try bench.workspace.remove(opened, theirs) }
        if let age = try bench.age(runner) {
            let armoured = bench.workspace.file("sealed-by-age")
            try age.seal(bench.plain, to: armoured)
            try await runner.compare(
                bench.name, with: age.peer, clock: .wall, note: bench.note, before: clear, ours: ours,
                theirs: { (_) async throws(CofferError) in try age.open(armoured, to: theirs) }, agree: agree)
            try bench.workspace.remove(armoured)
        }
        if let copy = bench.copy(runner) {
            try await runner.compare(
                bench.name, with: copy.peer, clock: .wall, note: bench.note, before: clear, ours: ours,
                theirs: { (_) async throws(CofferError) in try copy.copy(bench.plain, to: theirs) },
                agree: agree)
        }
        try await bench.store.discard(sealed)
        try bench.workspace.remove(opened, theirs)
    }

    private static func viewCopy(_ runner: Runner) async throws(CofferError) {
        guard let bench = try await FileBench.make(runner, "view-copy/100MiB", size: 100 << 20),
            let copy = bench.copy(runner)
        else { return }
        let sealed = bench.workspace.file("sealed")
        let theirs = bench.workspace.file("theirs")
        try await bench.store.seal(bench.plain, sealed)
        let agree = { () async throws(CofferError) in
            let view = try await bench.store.view(sealed)
            let same = try bench.workspace.same(view.path, bench.plain)
            try await view.end()
            return same
        }
        var views: [BenchViewCopy] = []
        let clear = { () async throws(CofferError) in
            for view in views { try await view.end() }
            views = []
            try bench.workspace.remove(theirs)
        }
        try await runner.compare(
            bench.name, with: copy.peer, clock: .wall,
            note: [bench.note, "until the copy is there"].compactMap(\.self).joined(separator: "; "),
            before: clear,
            ours: { (runs) async throws(CofferError) in
                for _ in 0..<runs { views.append(try await bench.store.view(sealed)) }
            },
            theirs: { (runs) async throws(CofferError) in
                for _ in 0..<runs { try copy.copy(bench.plain, to: theirs) }
            }, agree: agree)
        try await clear()
        try await runner.compare(
            bench.name, with: Peer(name: "cp, removed", version: copy.peer.version), clock: .wall,
            note: "both remove their copy; ours also overwrites its bytes",
            ours: { (runs) async throws(CofferError) in
                for _ in 0..<runs { try await bench.store.view(sealed).end() }
            },
            theirs: { (runs) async throws(CofferError) in
                for _ in 0..<runs {
                    try copy.copy(bench.plain, to: theirs)
                    try bench.workspace.remove(theirs)
                }
            }, agree: agree)
        try await bench.store.discard(sealed)
    }

    private static func randomRead(_ runner: Runner) async throws(CofferError) {
        let name = "file-random-read/4KiB"
        guard let bench = try await FileBench.make(runner, name, size: 1 << 30) else { return }
        let sealed = bench.workspace.file("sealed")
        try await bench.store.seal(bench.plain, sealed)
        let read = try await bench.store.reader(sealed)
        let plain = try Descriptor.open(bench.plain, .read)
        var expected = [UInt8](repeating: 0, count: 4096)
        var generator = SystemRandomNumberGenerator()
        let offsets = (0..<1024).map { _ in Int64.random(in: 0...Int64(bench.size - 4096), using: &generator)
        }
        for offset in offsets.prefix(64) {
            var span = expected.mutableSpan
            _ = try plain.read(at: offset, into: &span)
            guard try await read(offset, 4096) == expected else {
                throw CofferError(.internalFailure, "\(name): the bytes read differ from the file.")
            }
        }
        try await runner.measure(
            name, clock: .wall, note: bench.note,
            ours: { (count) async throws(CofferError) in
                for index in 0..<count { _ = try await read(offsets[index % offsets.count], 4096) }
            })
        try await bench.store.discard(sealed)
    }

    /// The same two slots are written whatever the size. Measured on a file of 10 GiB if it fits, and with
    /// `--quick` on a short one.
    private static func rewrap(_ runner: Runner) async throws(CofferError) {
        let name = "file-rewrap/10GiB"
        let bench = try await FileBench.make(runner, name, size: 10 << 30, sparse: true)
        guard let bench else { return }
        let sealed = bench.workspace.file("sealed")
        try await bench.store.seal(bench.plain, sealed)
        try await runner.measure(
            name, clock: .wall, note: bench.note,
            ours: { (count) async throws(CofferError) in
                for _ in 0..<count { try await bench.store.rewrap(sealed) }
            })
        try await bench.store.discard(sealed)
        try bench.workspace.remove(bench.plain)
    }

    private static func list(_ runner: Runner) async throws(CofferError) {
        let name = "file-list/10000"
        let workspace = try runner.files()
        guard let store = try await FileStoreCalls.make(in: workspace) else { return }
        let count = runner.quick ? 1000 : 10_000
        let names = (0..<count).map { workspace.file("listed-\($0)") }
        let empty = workspace.file("empty")
        try workspace.fill(empty, size: 1, sparse: false)
        for name in names { try await store.seal(empty, name) }
        guard try await store.list() >= count else {
            throw CofferError(.internalFailure, "\(name): files are missing from the list.")
        }
        try await runner.measure(
            name, clock: .wall, note: runner.quick ? "quick: \(count) files" : nil,
            ours: { (rounds) async throws(CofferError) in
                for _ in 0..<rounds { _ = try await store.list() }
            })
        for name in names { try await store.discard(name) }
        try workspace.remove(empty)
    }

    private static func sealMemory(_ runner: Runner) async throws(CofferError) {
        let name = "file-seal-memory/10GiB"
        let bench = try await FileBench.make(runner, name, size: 10 << 30, sparse: true)
        guard let bench else { return }
        let sealed = bench.workspace.file("sealed")
        guard OwnProcess.resetPeakMemory(), let idle = Machine.memory("VmRSS") else {
            return runner.skip(name, peer: nil, reason: "the kernel does not report the peak of memory")
        }
        try await bench.store.seal(bench.plain, sealed)
        let peak = Machine.memory("VmHWM") ?? idle
        try await bench.store.discard(sealed)
        try bench.workspace.remove(bench.plain)
        runner.record(name, unit: "MiB", values: [Double(peak - idle) / 1024], note: bench.note)
    }
}
