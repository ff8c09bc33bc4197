import Foundation
import TestSupport

/// The wall clock of another program: see Tests/Faults/walltime.c.
struct WallTime {
    private let library: String

    /// Whether there is a compiler for it.
    static var isPossible: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/cc") }

    /// Builds the shim in `folder`; `nil` when that fails.
    init?(in folder: URL) throws {
        library = folder.appending(path: "walltime.so").path(percentEncoded: false)
        let source = PackageRoot.path + "Tests/Faults/walltime.c"
        let run = try CommandRun.run("cc", ["-O2", "-fPIC", "-shared", "-o", library, source, "-ldl"])
        guard run.code == 0 else { return nil }
    }

    /// The environment in which it is so many seconds after 1970.
    func environment(_ seconds: Int) -> [String: String] {
        ["LD_PRELOAD": library, "WALL_TIME": String(seconds)]
    }
}
