import ArgumentParser
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// `coffer vectors verify`
struct VectorsVerify: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Run every JSON vector file found under the paths.",
        discussion: """
            The files have Wycheproof's JSON schema. For each: the declared number of tests must be the \
            number of passed, failed and skipped ones; no number may appear twice; at least one test must \
            run; and a valid test with one bit turned in memory must fail. A manifest.json beside the files \
            says which bytes and which counts they must have.

            Reasons for a skip: unsupported-key-size, unsupported-iv-size and unsupported-tag-size with the \
            bits, slow (see --slow), not-implemented.

            Exits 1 on any failure and on a file with no test it can run.
            """)

    @OptionGroup var global: NoVaultOptions

    @Argument(
        help: ArgumentHelp("Vector files, and folders that are searched for *.json.", valueName: "path"))
    var paths: [String]

    @Flag(help: "Run tests that take long, too: PBKDF2 with more than 20 000 000 rounds, or flagged as slow.")
    var slow = false

    @Flag(
        help: """
            Run without the processor's special instructions, of OpenSSL and of this program: such code has \
            been wrong by itself before. libsodium chooses its own.
            """)
    var portable = false

    @Option(help: ArgumentHelp("Write a JUnit report to this file.", valueName: "file"))
    var junit: String?

    @Option(help: ArgumentHelp("Use this manifest, too.", valueName: "file"))
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
            Output.message("coffer: no vector file was found: name files, or folders with *.json in them.")
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
