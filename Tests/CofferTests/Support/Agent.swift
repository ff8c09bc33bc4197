import Foundation
import TestSupport

/// The helper process of these tests, a program of this package: see Tests/TestAgent.
enum Agent {
    /// Where it was built: beside the test program.
    static let path: String = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: own).deletingLastPathComponent().appending(path: "TestAgent").path()
    }()

    /// Starts it; `environment` as NAME=VALUE. It has printed `ready`.
    static func start(_ arguments: [String], environment: [String] = []) -> Helper? {
        Helper(environment + [path] + arguments)
    }
}
