import Foundation
import TestSupport
import Testing

/// Runs the scenarios of Tests/PKCS11/pkcs11.py, with p11-kit and programs that use it. They fail where these
/// are missing: Scripts/setup-packages --tests installs them.
@Suite("coffer pkcs11 with other programs", .serialized)
struct PKCS11ProgramTests {
    @Test(
        "Real programs sign in and sign by alias, and are refused what they must not have",
        arguments: [
            "listing", "tls", "signatures", "refusals", "changes", "lasting", "rotated", "damaged", "install",
            "forks", "threads", "ends", "missing", "hostile", "misuse", "layout", "residue",
        ])
    func scenario(_ name: String) throws {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/PKCS11/pkcs11.py", "--coffer", CommandRun.cofferPath, "--only",
                name,
            ],
            seconds: 300)
        #expect(run.code == 0 && run.text == "\(name) ok\n", "\(run.text)\(run.errorText)")
    }

    @Test("No program links p11-kit", arguments: ["coffer", "coffer-pkcs11"])
    func links(_ name: String) throws {
        let run = try CommandRun.run("readelf", ["-dW", CommandRun.programs + name])
        #expect(run.text.contains("NEEDED") && !run.text.contains("p11-kit"))
    }
}
