import CofferEngine
import Testing
import TestSupport

@Suite("How a command ends")
struct ExitTests {
    /// A thread that is just ending may read memory that OpenSSL frees at exit: `coffer lock` crashed once in
    /// some thousand runs.
    @Test(
        "OpenSSL frees nothing as a command ends, whichever code used it first",
        arguments: [
            ["status"], ["unlock"], ["lock"], ["token", "put", "s", "a"], ["file", "list"], ["doctor"],
            [
                "crypt", "encrypt", "--scheme", "pbkdf2-cbc", "--salt-hex", "0011223344556677", "--rounds",
                "1", "--prf", "sha256",
            ],
            ["vectors", "verify", PackageRoot.path + "Vectors"],
            ["wipe", "--yes"],
        ])
    func exitHandlers(_ command: [String]) throws {
        let environment = ["LD_PRELOAD": try #require(PreloadedLibrary.exitHandlers)]
        let run: CommandRun
        if ["crypt", "vectors"].contains(command[0]) {
            run = try CommandRun.run(
                CommandRun.cofferPath, command + ["--passcode-fd", "3"], input: [1],
                descriptors: [3: Array("2468\n".utf8)], environment: environment)
        } else {
            run = try CommandHome().run(command, input: [1], environment: environment)
        }
        #expect(!run.errorText.contains("exit handler"), "\(run.errorText)")
        let isKept = command != ["unlock"] || KernelKeyring.isAvailable
        #expect(run.code == (isKept ? 0 : 8), "\(run.errorText)")
    }
}
