import TestSupport

/// The helper process of these tests, a program of this package: see Tests/TestAgent.
enum Agent {
    /// Where it is: see ``CommandRun/programs``.
    static let path = CommandRun.programs + "TestAgent"

    /// Starts it; `environment` as NAME=VALUE. It has printed `ready`.
    static func start(_ arguments: [String], environment: [String] = []) -> Helper? {
        Helper(environment + [path] + arguments)
    }
}
