import Foundation
import Glibc

/// Another program that a test talks to through its standard input and output.
package final class Helper {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Starts `arguments[0]`, looked up in PATH, and waits for the line `ready`; `nil` when it ends without
    /// one.
    package init?(_ arguments: [String]) {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        try? output.fileHandleForWriting.close()
        guard line() == "ready" else {
            _ = process.ended()
            return nil
        }
    }

    deinit { kill() }

    /// The process's number.
    package var identifier: Int32 { process.processIdentifier }

    /// Writes a line to its standard input.
    package func send(_ line: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The next line that it prints; `nil` at the end.
    package func line() -> String? {
        var bytes: [UInt8] = []
        while let next = try? output.fileHandleForReading.read(upToCount: 1), let byte = next.first {
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }

    /// Kills it as a crash would and waits until it is gone.
    package func kill() {
        guard process.isRunning else { return }
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
        _ = process.ended()
    }

    /// Waits until it ends, or kills it at the deadline; gives the exit code, 128 and more for a signal.
    package func end(seconds: Double = 120) -> Int32 {
        let watchdog = DispatchWorkItem { [identifier] in _ = Glibc.kill(identifier, SIGKILL) }
        DispatchQueue(label: "coffer.watchdog").asyncAfter(deadline: .now() + seconds, execute: watchdog)
        let code = process.ended()
        watchdog.cancel()
        return code
    }

    /// Runs `arguments` to their end; gives the exit code and what they printed.
    package static func run(_ arguments: [String]) throws -> (code: Int32, output: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        return (process.ended(), String(decoding: text, as: UTF8.self))
    }
}
