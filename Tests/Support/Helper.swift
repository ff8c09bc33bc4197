import CofferEngine
import Foundation

/// Another program that a test talks to through its standard input and output.
package final class Helper {
    private let process: BoundChildProcess

    /// Starts `arguments[0]`, looked up in PATH by `env`, whose options may stand before it, and waits for
    /// the line `ready`; `nil` when it ends without one.
    package init?(_ arguments: [String]) {
        guard let process = try? Self.start(arguments) else { return nil }
        self.process = process
        guard line() == "ready" else {
            process.end()
            return nil
        }
    }

    deinit { kill() }

    // Foundation's Process looks at every open descriptor of these tests, which have thousands, and reads
    // past its buffer over some hundreds.
    private static func start(_ arguments: [String]) throws -> BoundChildProcess {
        try BoundChildProcess.start((["/usr/bin/env"] + arguments).map { Array($0.utf8) }, readsOutput: true)
    }

    /// The process's number.
    package var identifier: Int32 { process.identifier }

    /// Writes a line to its standard input.
    package func send(_ line: String) { try? process.write(Array((line + "\n").utf8).span) }

    /// The next line that it prints; `nil` at the end.
    package func line() -> String? {
        var bytes: [UInt8] = []
        var next: [UInt8] = [0]
        while true {
            var span = next.mutableSpan
            guard let count = try? process.read(into: &span), count == 1 else { return nil }
            if next[0] == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(next[0])
        }
    }

    /// Kills it as a crash would and waits until it is gone.
    package func kill() { process.end() }

    /// Waits until it ends, or kills it at the deadline; gives the exit code, 128 and more for a signal.
    package func end(seconds: Double = 120) -> Int32 { process.ended(within: seconds) }

    /// Runs `arguments` to their end; gives the exit code and what they printed.
    package static func run(_ arguments: [String]) throws -> (code: Int32, output: String) {
        let run = try CommandRun.run("/bin/sh", ["-c", "exec /usr/bin/env \"$@\" 2>&1", "sh"] + arguments)
        return (run.code, run.text)
    }
}

extension BoundChildProcess {
    /// Waits until it ends, or kills it at the deadline; gives the exit code, 128 and more for a signal.
    package func ended(within seconds: Double) -> Int32 {
        // The queue keeps it until its time comes, cancelled or not.
        let watchdog = DispatchWorkItem { [weak self] in self?.end() }
        DispatchQueue(label: "coffer.watchdog").asyncAfter(deadline: .now() + seconds, execute: watchdog)
        defer { watchdog.cancel() }
        return ended()
    }
}
