import CofferCommandLine
import CofferCrypto
import CofferEngine
import CofferVectors

/// The summary that `vectors verify` prints for all files.
struct VectorSummary {
    let reports: [VectorReport]

    /// Whether at least one file was found and all files succeeded.
    var succeeded: Bool { !reports.isEmpty && reports.allSatisfy(\.succeeded) }

    /// The JSON document that `--json` prints.
    var document: JSONDocument {
        .object([
            ("files", .list(reports.map(Self.document))),
            ("total", .number(sum(\.declared))), ("passed", .number(sum(\.passed))),
            ("refused", .number(sum(\.refused))), ("failed", .number(sum(\.failed))),
            ("skipped", .number(sum { $0.skipped.values.reduce(0, +) })),
            (
                "negativeControl",
                .object([
                    ("detected", .number(controls.detected)), ("total", .number(controls.total)),
                ])
            ),
            ("provider", Self.providerDocument),
        ])
    }

    private static func document(of report: VectorReport) -> JSONDocument {
        let skipped = report.skipped.sorted { $0.key < $1.key }
        return .object([
            ("path", .text(report.path)), ("algorithm", .text(report.algorithm)),
            ("source", .text(report.source)), ("total", .number(report.declared)),
            ("passed", .number(report.passed)), ("refused", .number(report.refused)),
            ("failed", .number(report.failed)),
            (
                "skipped",
                .list(skipped.map { .object([("reason", .text($0.key)), ("count", .number($0.value))]) })
            ),
            (
                "failures",
                .list(
                    report.failures.map {
                        .object([("tcId", .number($0.id)), ("comment", .text($0.comment))])
                    })
            ),
            ("seconds", .decimal(report.duration.roundedSeconds)),
        ])
    }

    /// The lines of the table and the lines that follow it.
    var lines: [String] {
        var lines = TextTable.lines(
            ["algorithm", "source", "declared", "equal", "refused", "failed", "skipped", "seconds"], rows,
            numbers: Set(2...7))
        for report in reports {
            for (reason, count) in report.skipped.sorted(by: { $0.key < $1.key }) {
                let reason = reason == "not-implemented" ? "not implemented" : reason
                lines.append("skipped: \(reason): \(count) of \(report.algorithm) in \(report.path)")
            }
            for failure in report.failures {
                let place = failure.id == 0 ? "" : " test \(failure.id)"
                lines.append("FAILED: \(report.path)\(place): \(failure.comment)")
            }
            if report.failed == 0, report.passed == 0 {
                lines.append("FAILED: \(report.path): no test could run")
            }
        }
        lines.append(
            "negative control: \(controls.detected)/\(controls.total) algorithms notice one flipped bit")
        lines.append(provider)
        lines.append(
            "\(sum(\.declared)) tests in \(reports.count) files: \(sum(\.accepted)) equal, "
                + "\(sum(\.refused)) refused, \(sum(\.failed)) failed, "
                + "\(sum { $0.skipped.values.reduce(0, +) }) skipped")
        return lines
    }

    /// The rows of the table, one for each algorithm and source, in order of first appearance.
    private var rows: [[String]] {
        var keys: [[String]] = []
        var groups: [[String]: [VectorReport]] = [:]
        for report in reports {
            let key = [report.algorithm.isEmpty ? "?" : report.algorithm, report.source]
            if groups[key] == nil { keys.append(key) }
            groups[key, default: []].append(report)
        }
        return keys.map { key in
            let group = VectorSummary(reports: groups[key] ?? [])
            let counts = [
                group.sum(\.declared), group.sum(\.accepted), group.sum(\.refused), group.sum(\.failed),
                group.sum { $0.skipped.values.reduce(0, +) },
            ]
            let seconds = group.reports.reduce(Duration.zero) { $0 + $1.duration }.roundedSeconds
            return key + counts.map(String.init) + [String(seconds)]
        }
    }

    /// The number of algorithms whose negative controls were all detected, and the total number of algorithms
    /// with a negative control.
    private var controls: (detected: Int, total: Int) {
        let run = reports.filter { $0.controlDetected != nil }
        let missed = Set(run.filter { $0.controlDetected == false }.map(\.algorithm))
        let all = Set(run.map(\.algorithm))
        return (all.subtracting(missed).count, all.count)
    }

    /// A line that lists the libraries that computed the results.
    private var provider: String {
        "OpenSSL \(OpenSSLFailure.libraryVersion), libsodium \(SodiumLibrary.version); PBKDF2-HMAC-SHA256 by "
            + "\(Self.derivation); processor features "
            + (ProcessorFeatures.isPortable ? "masked " : "as found ")
            + "(\(ProcessorFeatures.libraryDescription))"
    }

    private static var providerDocument: JSONDocument {
        .object([
            ("openssl", .text(OpenSSLFailure.libraryVersion)), ("libsodium", .text(SodiumLibrary.version)),
            ("processor", .text(ProcessorFeatures.libraryDescription)),
            ("portable", .flag(ProcessorFeatures.isPortable)), ("pbkdf2Sha256", .text(derivation)),
        ])
    }

    private static var derivation: String {
        switch PBKDF2Binding.implementation(for: .sha256, rounds: 600_000) {
        case .instructions: "the processor's SHA-256 instructions"
        case .compression: "OpenSSL's compression function"
        case .library: "OpenSSL"
        }
    }

    private func sum(_ count: (VectorReport) -> Int) -> Int { reports.reduce(0) { $0 + count($1) } }
}

extension Duration {
    /// The duration in seconds, rounded to the nearest thousandth.
    fileprivate var roundedSeconds: Double { ((self / .seconds(1)) * 1000).rounded() / 1000 }
}
