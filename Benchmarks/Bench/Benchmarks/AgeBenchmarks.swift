import BenchPeers
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// The age format against age itself, from file to file. The header, which costs the same for any size, is
/// included on both sides, and the start of the program on age's.
enum AgeBenchmarks {
    static let all: [Benchmark] = [
        Benchmark("age-encrypt/1GiB", encrypt), Benchmark("age-decrypt/1GiB", decrypt),
    ]

    private static func encrypt(_ runner: Runner) async throws(CofferError) {
        guard let bench = try await FileBench.make(runner, "age-encrypt/1GiB", size: 1 << 30),
            let age = try bench.age(runner)
        else { return }
        let ours = bench.workspace.file("ours.age")
        let theirs = bench.workspace.file("theirs.age")
        let opened = bench.workspace.file("opened")
        let recipient = try AgeRecipient(age.recipient)
        let clear = { () async throws(CofferError) in try bench.workspace.remove(ours, theirs, opened) }
        try await runner.compare(
            bench.name, with: age.peer, clock: .wall, note: bench.note, before: clear,
            ours: { (_) async throws(CofferError) in try seal(bench.plain, to: ours, recipient) },
            theirs: { (_) async throws(CofferError) in try age.seal(bench.plain, to: theirs) },
            agree: { () async throws(CofferError) in
                try age.open(ours, to: opened)
                return try bench.workspace.same(opened, bench.plain)
            })
        try await clear()
    }

    private static func decrypt(_ runner: Runner) async throws(CofferError) {
        guard let bench = try await FileBench.make(runner, "age-decrypt/1GiB", size: 1 << 30),
            let age = try bench.age(runner)
        else { return }
        let sealed = bench.workspace.file("sealed.age")
        let ours = bench.workspace.file("ours")
        let theirs = bench.workspace.file("theirs")
        try age.seal(bench.plain, to: sealed)
        let key = try Descriptor.open(age.identity, .read).readAll(limit: 4096)
        let identities = try AgeIdentity.list(in: key.span)
        try await runner.compare(
            bench.name, with: age.peer, clock: .wall, note: bench.note,
            before: { () async throws(CofferError) in try bench.workspace.remove(ours, theirs) },
            ours: { (_) async throws(CofferError) in try open(sealed, to: ours, identities) },
            theirs: { (_) async throws(CofferError) in try age.open(sealed, to: theirs) },
            agree: { () async throws(CofferError) in
                let first = try bench.workspace.same(ours, bench.plain)
                let second = try bench.workspace.same(theirs, bench.plain)
                return first && second
            })
        try bench.workspace.remove(sealed, ours, theirs)
    }

    private static func seal(
        _ plain: FilePath, to target: FilePath, _ recipient: AgeRecipient
    ) throws(CofferError) {
        let source = try Descriptor.open(plain, .read)
        let output = try Descriptor.open(target, [.readWrite, .exclusive])
        var writer = try AgeWriter.start(to: [recipient]) { (bytes) throws(CofferError) in
            try output.append(bytes)
        }
        let buffer = try AlignedBuffer.make(count: 256 << 10)
        while true {
            let count = try buffer.write(0..<buffer.count) { (span) throws(CofferError) in
                try source.readSome(into: &span)
            }
            guard let count else { break }
            try buffer.read(0..<count) { (piece) throws(CofferError) in
                try writer.write(piece) { (bytes) throws(CofferError) in try output.append(bytes) }
            }
        }
        try writer.finish { (bytes) throws(CofferError) in try output.append(bytes) }
    }

    private static func open(
        _ sealed: FilePath, to target: FilePath, _ identities: [AgeIdentity]
    ) throws(CofferError) {
        let source = try Descriptor.open(sealed, .read)
        let output = try Descriptor.open(target, [.readWrite, .exclusive])
        var reader = try AgeReader.open(identities: identities) { (span) throws(CofferError) in
            try source.readSome(into: &span)
        }
        while true {
            let written: Void? = try reader.next(
                input: { (span) throws(CofferError) in try source.readSome(into: &span) },
                { (bytes) throws(CofferError) in try output.append(bytes) })
            guard written != nil else { break }
        }
    }
}
