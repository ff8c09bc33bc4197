import CofferBase
import CofferDatabase
import Foundation
import TestSupport
import Testing

/// No two pages under one nonce, whatever copies the memory of a writer.
@Suite("Nonces of pages")
struct NonceTests {
    @Test("A forked process seals pages under other nonces", arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func fork(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let run = try CommandRun.run(
            DatabaseAgent.path, ["fork", format.rawValue, scene.keyBytes.hex, scene.pathText, "delete"],
            seconds: 60)
        #expect(run.code == 0, "\(run.text) \(run.errorText)")
        let nonces = run.text.split(separator: "\n").filter { $0.hasPrefix("nonce ") }
        #expect(nonces.count == 7)
        #expect(Set(nonces).count == nonces.count, "\(run.text)")
    }
}
