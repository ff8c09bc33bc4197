import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// The test kit of the age specification (C2SP CCTV), for hosts that have it.
@Suite("age test kit", .enabled(if: PackageRoot.ageTestKit != nil, "needs its files"))
struct AgeKitTests {
    /// Writes the body of each file to a folder and prints the headers as JSON: some bodies are compressed.
    private static let unpack = """
        import json, os, sys, zlib
        kit, folder = sys.argv[1:]
        for name in sorted(os.listdir(kit)):
            head, _, body = open(os.path.join(kit, name), "rb").read().partition(b"\\n\\n")
            lines = [line.partition(": ")[::2] for line in head.decode().split("\\n")]
            fields = {key: [v for k, v in lines if k == key] for key, _ in lines}
            if "expect" not in fields:
                continue
            if "compressed" in fields:
                body = zlib.decompress(body)
            open(os.path.join(folder, name), "wb").write(body)
            print(json.dumps({"name": name, **fields}))
        """

    private struct Case: Decodable {
        let name: String
        let expect: [String]
        let payload: [String]?
        let identity: [String]?
        let passphrase: [String]?
    }

    /// The results of files for keys of a type that Coffer does not support: the stanza is skipped, but the
    /// header's grammar holds for every type.
    private static let unsupported: [String: CofferError.Code] = ["hybrid_not_canonical_body": .corrupt]

    /// The files of which the kit allows one more chunk to be passed on. A full chunk is opened as the last
    /// one only if nothing follows it, and as another only if something does, so none is passed on here.
    private static let stopsEarlier: Set<String> = [
        "armor_garbage_encoded", "stream_no_final_full", "stream_no_final_two_chunks_full",
        "stream_trailing_garbage_long",
        "stream_trailing_garbage_short", "stream_two_final_chunks", "stream_two_final_chunks_full",
        "stream_two_final_chunks_second",
    ]

    /// The codes for each result of the kit.
    private static let codes: [String: Set<CofferError.Code?>] = [
        "success": [nil], "no match": [.absent, .wrongPasscode], "HMAC failure": [.notAuthentic],
        "header failure": [.corrupt, .unsupportedVersion, .refused], "payload failure": [.corrupt],
        "armor failure": [.corrupt],
    ]

    @Test("Every file comes to its result, and what is read before a failure is the kit's")
    func kit() throws {
        let folder = try ScratchDirectory.make()
        let kit = try #require(PackageRoot.ageTestKit)
        let run = try CommandRun.run("python3", ["-c", Self.unpack, kit, folder.path.string])
        #expect(run.code == 0, "\(run.errorText)")
        let cases = try run.text.split(separator: "\n").map {
            try JSONDecoder().decode(Case.self, from: Data($0.utf8))
        }
        #expect(cases.count >= 143)
        var results: [String: Int] = [:]
        for file in cases {
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: folder.path(of: file.name))))
            results[try check(file, bytes), default: 0] += 1
        }
        #expect(Set(results.keys) == Set(Self.codes.keys).union(["unsupported"]), "\(results)")
    }

    /// Checks one file and returns the kind of its result.
    private func check(_ file: Case, _ bytes: [UInt8]) throws -> String {
        let expectation = try #require(file.expect.first)
        let identities = (file.identity ?? []).compactMap { try? AgeIdentity.parse(Array($0.utf8).span) }
        guard !identities.isEmpty || file.identity == nil else {
            let other = try AgeIdentity.generate()
            let outcome = AgeFiles.decrypted(bytes, [other])
            #expect(outcome.code == Self.unsupported[file.name] ?? .absent, "\(file.name)")
            return "unsupported"
        }
        let allowed = try #require(Self.codes[expectation], "\(expectation)")
        let outcome =
            if let passphrase = file.passphrase?.first, identities.isEmpty {
                AgeFiles.decrypted(bytes, passphrase: passphrase)
            } else {
                AgeFiles.decrypted(bytes, identities.isEmpty ? [try .generate()] : identities)
            }
        #expect(allowed.contains(outcome.code), "\(file.name): \(String(describing: outcome.code))")
        if Self.stopsEarlier.contains(file.name) {
            #expect(outcome.plaintext.count % 65_536 == 0 && outcome.code == .corrupt, "\(file.name)")
        } else if let payload = file.payload?.first {
            let digest = try Digest.sha256.hash(outcome.plaintext.span)
            #expect(digest.hex == payload, "\(file.name): \(outcome.plaintext.count) bytes were read")
        } else {
            #expect(outcome.plaintext.isEmpty, "\(file.name)")
        }
        return expectation
    }
}
