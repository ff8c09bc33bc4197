/// What became of the tests of one vector file.
package struct VectorReport: Sendable {
    /// What became of one test.
    package enum Verdict: Sendable, Equatable {
        /// Accepted, and equal in both directions.
        case accepted
        /// Refused, as the file says.
        case refused
        /// Not what the file says, and how.
        case failed(String)
        /// Not run; the reason is a code.
        case skipped(String)
    }

    /// One test and its verdict.
    package struct Result: Sendable {
        package let id: Int
        package let comment: String
        package let verdict: Verdict
    }

    /// The path as it was given.
    package let path: String
    /// The algorithm that the file names; empty when it cannot be read.
    package var algorithm = ""
    /// Where the tests come from.
    package var source = ""
    /// How many tests the file says it has.
    package var declared = 0
    /// The tests that were looked at.
    package var results: [Result] = []
    /// The number of tests of an algorithm that is not implemented.
    package var notImplemented = 0
    /// What is wrong with the file as a whole.
    package var problems: [String] = []
    /// Whether a valid test with one bit turned was noticed; `nil` when there was none to turn.
    package var controlDetected: Bool?
    /// How long it took.
    package var duration: Duration = .zero

    init(path: String) { self.path = path }
}

extension VectorReport {
    /// Accepted and equal.
    package var accepted: Int { results.count { $0.verdict == .accepted } }

    /// Correctly refused.
    package var refused: Int { results.count { $0.verdict == .refused } }

    /// As the file says, one way or the other.
    package var passed: Int { accepted + refused }

    /// Failed tests; something wrong with the whole file counts as one each.
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

    /// Whether every test that could run passed, and at least one could.
    package var succeeded: Bool { failed == 0 && passed > 0 }

    /// The reason of tests whose algorithm this release does not have.
    static let notImplementedReason = "not-implemented"
    /// The reason of tests that take long.
    static let slowReason = "slow"
}
