@testable import Coffer
@testable import CofferCrypto
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite(
    "Containers shared with an independent implementation in Python",
    .enabled(if: IndependentReader.isAvailable, "python3 with its module cryptography is missing"))
struct IndependentReaderTests {
    private static let sizes = [
        (4, 0), (4, 16), (4, 49), (12, 5000), (16, 0), (16, 65535), (16, 65536), (16, 200_000),
    ]

    @Test("Python reads the containers that Swift writes", arguments: ContainerCipherSuite.allCases, sizes)
    func pythonReadsWhatSwiftWrote(suite: ContainerCipherSuite, shape: (log2: Int, count: Int)) async throws {
        let fixture = try await ContainerFixture()
        let plaintext = ContainerFixture.plaintext(shape.count)
        let name = Array("report\n".utf8) + [0xff]
        let bytes = try fixture.seal(plaintext, chunkSizeLog2: UInt8(shape.log2), suite: suite, name: name)
        try IndependentReader.writeKeys(fixture)
        try fixture.home.scratch.write("swift", bytes)
        let read = try IndependentReader.run(
            fixture, "read_container.py '$DIR/swift' --keys-fd 3 > '$DIR/plain'")
        #expect(read.code == 0, "\(read.output)")
        #expect(try fixture.home.scratch.read("plain") == plaintext)
        let info = try IndependentReader.run(fixture, "read_container.py '$DIR/swift' --keys-fd 3 --info")
        #expect(info.output.contains("\"length\": \(shape.count)"))
        #expect(info.output.contains(#""name": "report\n\\xff""#), "\(info.output)")
    }

    @Test("Swift reads the containers that Python writes", arguments: ContainerCipherSuite.allCases, sizes)
    func swiftReadsWhatPythonWrote(suite: ContainerCipherSuite, shape: (log2: Int, count: Int)) async throws {
        let fixture = try await ContainerFixture()
        let plaintext = ContainerFixture.plaintext(shape.count)
        try IndependentReader.writeKeys(fixture)
        try fixture.home.scratch.write("plain", plaintext)
        let suiteName = suite == .aes256GCM ? "aes-256-gcm" : "chacha20-poly1305"
        for slot in ["A", "B", "both"] {
            let written = try IndependentReader.run(
                fixture,
                "write_container.py --keys-fd 3 --lg \(shape.log2) --suite \(suiteName) --slot \(slot) "
                    + "--name n --mtime 1234567890123456789 '$DIR/plain' '$DIR/python'")
            #expect(written.code == 0, "\(written.output)")
            let reader = try fixture.reader(fixture.home.scratch.read("python"))
            #expect(try fixture.read(reader) == plaintext)
            #expect(reader.header.name == Array("n".utf8))
            #expect(reader.header.modified == 1_234_567_890_123_456_789)
            #expect(reader.suite == suite)
        }
    }

    /// Wrapped under keys of the record of file keys, as every file of a store, and then under newer ones.
    @Test("Python reads containers that were rewrapped")
    func pythonReadsWhatWasRewrapped() async throws {
        let fixture = try await ContainerFixture()
        let (session, vaultID) = (fixture.session, fixture.session.vaultID)
        let plaintext = ContainerFixture.plaintext(100)
        try fixture.home.scratch.write("source", plaintext)
        let id = try await session.files.add(contentsOf: fixture.home.scratch.path.appending("source"))
        for _ in 0..<2 {
            let record = try session.files.fileKeys()
            let outer = try record.currentOuter(fixture.device)
            let inner = try record.currentInner(
                .whenUnlockedThisDeviceOnly, classKey: fixture.classKey, vaultID: vaultID)
            let outerHex = try #require(outer).key.withSpan { $0.copied().hex }
            let innerHex = try #require(inner).key.withSpan { $0.copied().hex }
            try IndependentReader.writeKeys(
                fixture, more: #", "outerKEK": "\#(outerHex)", "innerKEK": "\#(innerHex)""#)
            try fixture.home.scratch.write("swift", fixture.home.read("files/\(id).coffer"))
            let read = try IndependentReader.run(
                fixture, "read_container.py '$DIR/swift' --keys-fd 3 > '$DIR/plain'")
            #expect(read.code == 0, "\(read.output)")
            #expect(try fixture.home.scratch.read("plain") == plaintext)
            _ = try await session.files.rotateKeys()
        }
    }

    @Test("Both implementations require the right context")
    func bothWantTheContext() async throws {
        let fixture = try await ContainerFixture()
        let plaintext = ContainerFixture.plaintext(100)
        try IndependentReader.writeKeys(fixture)
        try fixture.home.scratch.write("swift", try fixture.seal(plaintext, context: [0xab, 0xcd]))
        let right = "read_container.py '$DIR/swift' --keys-fd 3 --context-hex abcd > '$DIR/plain'"
        #expect(try IndependentReader.run(fixture, right).code == 0)
        #expect(try fixture.home.scratch.read("plain") == plaintext)
        let wrong = "read_container.py '$DIR/swift' --keys-fd 3 --context-hex abce > '$DIR/none'"
        #expect(try IndependentReader.run(fixture, wrong).code == 1)
        #expect(try fixture.home.scratch.read("none").isEmpty)
        let write = "write_container.py --keys-fd 3 --context-hex 0102 '$DIR/plain' '$DIR/python'"
        #expect(try IndependentReader.run(fixture, write).code == 0)
        let python = try fixture.home.scratch.read("python")
        #expect(try fixture.open(python, context: [1, 2]) == plaintext)
        #expect(failure { _ = try fixture.open(python, context: [1, 3]) } == .corrupt)
    }

    @Test("Both implementations refuse the same damage")
    func bothRefuseTheSame() async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal(ContainerFixture.plaintext(60))
        try IndependentReader.writeKeys(fixture)
        for number in 0..<24 {
            var damaged = bytes
            damaged[number * (bytes.count - 1) / 23] ^= 1
            try fixture.home.scratch.write("swift", damaged)
            let read = try IndependentReader.run(
                fixture, "read_container.py '$DIR/swift' --keys-fd 3 > '$DIR/plain'")
            let code = failure { _ = try fixture.open(damaged) }
            #expect(
                (read.code == 1) == (code != nil), "byte \(number * (bytes.count - 1) / 23): \(read.output)")
        }
    }
}

enum IndependentReader {
    private static let programs = PackageRoot.path + "Tests/Independent"

    static let isAvailable = (try? Helper.run(["python3", "-c", "import cryptography"]).code) == 0

    /// The keys as JSON in a file of its owner alone, handed over as an open descriptor.
    static func writeKeys(_ fixture: ContainerFixture, more: String = "") throws {
        func hex(_ key: borrowing SymmetricKey) throws -> String { try key.withSpan { $0.copied().hex } }
        let (outer, inner) = (try hex(fixture.device.deviceKey().key), try hex(fixture.classKey.key))
        let json = """
            {"deviceKey": "\(outer)", "classKey": "\(inner)", \
            "vaultID": "\(fixture.device.vaultID)", "classKeyID": "\(fixture.classKey.id.hex)"\(more)}
            """
        try fixture.home.scratch.write("keys", Array(json.utf8))
    }

    /// Runs a program with the keys on descriptor 3; `$DIR` is the scratch directory.
    static func run(_ fixture: ContainerFixture, _ command: String) throws -> (code: Int32, output: String) {
        let directory = fixture.home.scratch.path.string
        let line = command.replacing("$DIR", with: directory)
        return try Helper.run(["sh", "-c", "exec python3 \(programs)/\(line) 3< '\(directory)/keys'"])
    }
}
