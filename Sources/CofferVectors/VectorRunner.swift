package import CofferBase
import CofferCrypto

/// A runner that tests the library against vector files and counts every result, so a test that is not run
/// cannot count as passed.
///
/// For every file, the runner requires that the accepted, refused, failed and skipped tests add up to the
/// declared number, that test numbers are unique, that every member, flag and result is known, and that a
/// valid test fails after one bit is flipped. A file in which no test passes does not succeed.
package struct VectorRunner: Sendable {
    /// The options for a run.
    package struct Options: Sendable {
        /// Whether to run slow tests.
        package let includesSlow: Bool

        package init(includesSlow: Bool = false) { self.includesSlow = includesSlow }

        /// The maximum number of rounds of a quick test. Tests with more rounds are skipped unless slow tests
        /// are requested.
        static let quickRounds = 20_000_000

        private static let slowFlag = "Slow"

        func skips(_ test: VectorCase, rounds: Int) -> Bool {
            guard !includesSlow else { return false }
            return test.flags.contains(Self.slowFlag) || (Self.quickRounds + 1)...Int(Int32.max) ~= rounds
        }
    }

    private let options: Options
    private let manifest: VectorManifest
    /// The procedures for formats that higher-level modules define, by algorithm name.
    private let formats: [String: VectorTest]

    package init(
        options: Options = Options(), manifest: VectorManifest = VectorManifest(),
        formats: [String: VectorTest] = [:]
    ) {
        self.options = options
        self.manifest = manifest
        self.formats = formats
    }

    /// Runs the tests of a file with the given contents.
    package func run(_ contents: [UInt8], path: String) -> VectorReport {
        var report = VectorReport(path: path)
        let clock = ContinuousClock()
        let start = clock.now
        do throws(MalformedVector) {
            try run(contents, into: &report)
        } catch {
            report.problems.append(error.reason)
        }
        report.duration = start.duration(to: clock.now)
        manifest.check(&report, contents: contents, includesSlow: options.includesSlow)
        return report
    }

    /// Returns the report for a file that could not be read.
    package func unreadable(_ path: String, _ error: CofferError) -> VectorReport {
        var report = VectorReport(path: path)
        report.problems.append(error.message)
        return report
    }

    private func run(_ contents: [UInt8], into report: inout VectorReport) throws(MalformedVector) {
        let document = try? JSONValue(parsing: contents)
        let head = try VectorFile.head(of: document)
        report.algorithm = head.algorithm
        report.declared = head.count
        let known = formats[head.algorithm] ?? VectorTest.named(head.algorithm)
        guard let document, let procedure = known else {
            report.notImplemented = head.count
            return
        }
        let file = try VectorFile.read(document, procedure)
        report.source = file.source
        var seen: Set<Int> = []
        for test in file.cases {
            let verdict =
                seen.insert(test.id).inserted
                ? verdict(on: test, of: file, procedure) : .failed("its number is not unique")
            report.results.append(.init(id: test.id, comment: test.comment, verdict: verdict))
        }
        guard file.cases.count == file.declaredCount else {
            throw MalformedVector("declares \(file.declaredCount) tests but contains \(file.cases.count)")
        }
        guard !file.cases.isEmpty else { throw MalformedVector("contains no tests") }
        try runControl(file, procedure, &report)
    }

    /// Flips one bit of the first valid test that was accepted, and requires that the library detects it.
    private func runControl(
        _ file: VectorFile, _ procedure: VectorTest, _ report: inout VectorReport
    ) throws(MalformedVector) {
        for (test, result) in zip(file.cases, report.results) where result.verdict == .accepted {
            guard test.expectation == .valid, let turned = test.flippingLastBit(of: procedure.controlField)
            else { continue }
            guard case .failed = verdict(on: turned, of: file, procedure) else {
                report.controlDetected = false
                throw MalformedVector(
                    "the negative control was not detected: test \(test.id) with one bit flipped")
            }
            report.controlDetected = true
            return
        }
    }

    private func verdict(
        on test: VectorCase, of file: VectorFile, _ procedure: VectorTest
    ) -> VectorReport.Verdict {
        guard test.id > 0 else { return .failed("it has no number") }
        guard let expectation = test.expectation else {
            return .failed("its result is not valid, invalid or acceptable")
        }
        if let unknown = test.fields.keys.first(where: { !procedure.fields.contains($0) }) {
            return .failed("it has an unknown field \"\(unknown.prefix(40))\"")
        }
        if let notes = file.notes, let unknown = test.flags.first(where: { notes[$0] == nil }) {
            return .failed("its flag \"\(unknown.prefix(40))\" is not among the file's notes")
        }
        do throws(MalformedVector) {
            try test.checkDeclaredSizes()
            let verdict = evaluate(try procedure.run(test, options), expectation, test.expectedError)
            return expectation == .acceptable ? decided(verdict, test, procedure) : verdict
        } catch {
            return .failed(error.reason)
        }
    }

    /// Fails an acceptable test with a result that is not the one decided for its flags.
    private func decided(
        _ verdict: VectorReport.Verdict, _ test: VectorCase, _ procedure: VectorTest
    ) -> VectorReport.Verdict {
        guard let decisions = procedure.decisions, verdict == .accepted || verdict == .refused else {
            return verdict
        }
        let accepted = Set(test.flags.compactMap { decisions[$0] })
        guard accepted.count == 1 else { return .failed("no flag decides whether it is accepted") }
        guard accepted.contains(verdict == .accepted) else {
            return .failed("\(verdict == .accepted ? "accepted" : "refused"), but decided otherwise")
        }
        return verdict
    }

    private func evaluate(
        _ observation: VectorResult, _ expectation: VectorCase.Expectation, _ expectedError: String?
    ) -> VectorReport.Verdict {
        switch (observation, expectation) {
        case (.wrong(let reason), _): .failed(reason)
        case (.slow, _): .skipped(VectorReport.slowReason)
        case (.notOffered(let reason), _): .skipped(reason)
        case (.agrees, .valid), (.agrees, .acceptable): .accepted
        case (.agrees, .invalid): .failed("accepted, but must be refused")
        case (.unequal, .invalid): .refused
        case (.unequal, _): .failed("the result differs")
        case (.unsupported, .invalid): .refused
        case (.unsupported(let reason), _): .skipped(reason)
        case (.refused(let code), .invalid):
            expectedError.map { $0 == code.name } ?? true
                ? .refused : .failed("refused with \(code.name), not with \(expectedError ?? "")")
        case (.refused, .acceptable): .refused
        case (.refused(let code), .valid): .failed("refused with \(code.name)")
        }
    }
}
