import Foundation
import Testing
import TestSupport

/// Runs the scenarios of Tests/Certificates/certificates.py, with OpenSSL's own program.
@Suite("Certificates of coffer key with other programs", .serialized)
struct CertificateProgramTests {
    @Test(
        "openssl signs requests, verifies what is made of them, and nothing wrong is installed",
        arguments: ["requests", "self_signed", "refusals", "expiry", "locked"])
    func scenario(_ name: String) throws {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/Certificates/certificates.py", "--coffer", CommandRun.cofferPath,
                "--only", name,
            ],
            seconds: 300)
        #expect(run.code == 0 && run.text == "\(name) ok\n", "\(run.text)\(run.errorText)")
    }

    @Test(
        "Key files of openssl, GnuTLS, NSS and Python are imported and exported, and nothing wrong is",
        arguments: [
            "producers", "pem", "refusals", "exports", "rotation", "locked", "spellings", "inputs",
        ])
    func keyFiles(_ name: String) throws {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/Certificates/key_files.py", "--coffer", CommandRun.cofferPath,
                "--only", name,
            ],
            seconds: 600)
        #expect(run.code == 0 && run.text == "\(name) ok\n", "\(run.text)\(run.errorText)")
    }
}
