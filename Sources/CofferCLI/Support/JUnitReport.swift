import CofferBase
import CofferCrypto
import CofferEngine
import CofferVectors
import SystemPackage

/// The vector reports in JUnit format for build servers, with one suite per file and one case per test.
struct JUnitReport {
    private var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"

    init(_ reports: [VectorReport]) {
        for report in reports { add(report) }
        text += "</testsuites>\n"
    }

    /// Writes the report, replacing an existing file.
    func write(to path: FilePath) throws(CofferError) {
        let file = try Descriptor.open(path, [.readWrite, .create])
        try file.truncate(to: 0)
        try file.write(Array(text.utf8).span, at: 0)
        try file.close()
    }

    private mutating func add(_ report: VectorReport) {
        let skipped = report.skipped.values.reduce(0, +)
        text += "<testsuite name=\"\(Self.escaped(report.path))\" tests=\"\(report.declared)\""
        text += " failures=\"\(report.failed)\" skipped=\"\(skipped)\">\n"
        for problem in report.problems { addCase(report, "file", .failed(problem)) }
        if report.notImplemented > 0 { addCase(report, "all tests", .skipped("not-implemented")) }
        for result in report.results { addCase(report, "test \(result.id)", result.verdict) }
        text += "</testsuite>\n"
    }

    private mutating func addCase(
        _ report: VectorReport, _ name: String, _ verdict: VectorReport.Verdict
    ) {
        text += "<testcase classname=\"\(Self.escaped(report.algorithm))\" name=\"\(name)\""
        switch verdict {
        case .accepted, .refused: text += "/>\n"
        case .failed(let reason):
            text += "><failure message=\"\(Self.escaped(reason))\"/></testcase>\n"
        case .skipped(let reason):
            text += "><skipped message=\"\(Self.escaped(reason))\"/></testcase>\n"
        }
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            // XML 1.0 cannot represent most control characters.
            case "\u{0}"..."\u{1F}": result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
