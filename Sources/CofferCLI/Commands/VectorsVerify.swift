import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import CofferVectors
import SystemPackage

/// The `coffer vectors verify` command, which checks the cryptography against test vectors.
struct VectorsVerify: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Run every JSON vector file found under the paths.",
        discussion: """
            The files follow Wycheproof's JSON schema. For each file, the declared number of tests must be \
            the sum of passed, failed and skipped ones; no test number may appear twice; at least one test \
            must run; and a valid test with one bit flipped in memory must fail. A manifest.json beside the \
            files lists their expected SHA-256 digests and counts.

            Reasons for a skip: unsupported-key-size, unsupported-iv-size and unsupported-tag-size, each \
            with the size in bits; unsupported-prf; unsupported-curve, unsupported-hash, unsupported-type, \
            unsupported-salt-or-mask and unsupported-key of signatures; slow (see --slow); and \
            not-implemented.

            Exits with 1 on any failure, and if a file has no test that can run; with 3, before any test \
            runs, if there is no file or directory at a path.
            """)

    @OptionGroup var global: NoVaultOptions

    @Argument(
        help: ArgumentHelp("Vector files, and directories to search for *.json.", valueName: "path"))
    var paths: [String]

    @Flag(help: "Also run slow tests: PBKDF2 with more than 20 000 000 rounds, or flagged as slow.")
    var slow = false

    @Flag(
        help: """
            Run without special processor instructions, in OpenSSL and in this program, because such code \
            has had its own bugs. libsodium selects its own instructions.
            """)
    var portable = false

    @Option(help: ArgumentHelp("Write a JUnit report to this file.", valueName: "file"))
    var junit: String?

    @Option(help: ArgumentHelp("Use this manifest too.", valueName: "file"))
    var manifest: [String] = []

    func run() throws {
        if portable, let setting = ProcessorFeatures.portableSetting, !ProcessorFeatures.isPortable {
            try CurrentExecutable.reexec(setting: setting.name, to: setting.value)
        }
        let junit = try junit.map { text throws(CofferError) in try FilePathArgument.path(text) }
        let search = try VectorSearch.run(
            paths.map { FilePath($0) }, manifests: manifest.map { FilePath($0) })
        let runner = VectorRunner(
            options: .init(includesSlow: slow), manifest: search.manifest,
            formats: [
                ContainerVectors.algorithm: ContainerVectors.procedure,
                OrderVectors.algorithm: OrderVectors.procedure,
                PolicyVectors.algorithm: PolicyVectors.procedure,
                RecoveryVectors.algorithm: RecoveryVectors.procedure,
            ])
        var reports: [VectorReport] = []
        for file in search.files {
            reports.append(Self.report(on: file, runner))
        }
        let summary = VectorSummary(reports: reports)
        if let junit { try JUnitReport(reports).write(to: junit) }
        if global.json {
            try Output.json(summary.document)
        } else {
            for line in summary.lines { try Output.line(line) }
        }
        if reports.isEmpty {
            Output.message(
                "coffer: No vector file was found. Specify files, or directories with *.json files.")
        }
        guard summary.succeeded else { throw ExitCode(1) }
    }

    private static func report(on file: FilePath, _ runner: VectorRunner) -> VectorReport {
        do throws(CofferError) {
            let contents = try VectorSearch.contents(of: file)
            return runner.run(contents, path: file.string)
        } catch {
            return runner.unreadable(file.string, error)
        }
    }
}
