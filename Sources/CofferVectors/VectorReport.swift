import CofferCrypto
/// The results of one vector file.
package struct VectorReport: Sendable {
    /// The result of one test.
    package enum Verdict: Sendable, Equatable {
        /// The library accepted the test, with equal results in both directions.
        case accepted
        /// The library refused the test, as the file requires or permits.
        case refused
        /// The result is not the one that the file requires; the text describes the difference.
        case failed(String)
        /// The test was not run; the text is the reason's code.
        case skipped(String)
    }

    /// One test and its verdict.
    package struct Result: Sendable {
        package let id: Int
        package let comment: String
        package let verdict: Verdict
    }

    /// The file's path, as passed to the runner.
    package let path: String
    /// The algorithm's name in the file; empty if the file cannot be read.
    package var algorithm = ""
    /// The source of the tests.
    package var source = ""
    /// The number of tests that the file declares.
    package var declared = 0
    /// The results so far.
    package var results: [Result] = []
    /// The number of tests that cannot run because their algorithm is not implemented.
    package var notImplemented = 0
    /// Problems with the file as a whole.
    package var problems: [String] = []
    /// Whether a flipped bit in a valid test was detected; `nil` if there was no bit to flip.
    package var controlDetected: Bool?
    /// The duration of the run.
    package var duration: Duration = .zero

    init(path: String) { self.path = path }
}

extension VectorReport {
    /// The number of tests accepted with equal results.
    package var accepted: Int { results.count { $0.verdict == .accepted } }

    /// The number of tests correctly refused.
    package var refused: Int { results.count { $0.verdict == .refused } }

    /// The number of tests with a result that the file requires or permits.
    package var passed: Int { accepted + refused }

    /// The number of failed tests; each problem of the whole file counts as one.
    package var failed: Int { failures.count }

    /// Every failure with the test's number; 0 stands for the whole file.
    package var failures: [(id: Int, comment: String)] {
        problems.map { (0, $0) }
            + results.compactMap { result in
                guard case .failed(let reason) = result.verdict else { return nil }
                return (result.id, result.comment.isEmpty ? reason : "\(result.comment): \(reason)")
            }
    }

    /// The number of skipped tests for each reason.
    package var skipped: [String: Int] {
        var counts: [String: Int] = [:]
        for result in results {
            if case .skipped(let reason) = result.verdict { counts[reason, default: 0] += 1 }
        }
        if notImplemented > 0 { counts[Self.notImplementedReason] = notImplemented }
        return counts
    }

    /// Whether every test that could run passed and at least one test passed.
    package var succeeded: Bool { failed == 0 && passed > 0 }

    /// The skip reason for tests whose algorithm this release does not implement.
    static let notImplementedReason = "not-implemented"
    /// The skip reason for slow tests.
    static let slowReason = "slow"
}
