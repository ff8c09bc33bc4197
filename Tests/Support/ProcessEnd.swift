import Foundation
import Glibc

extension Process {
    /// Waits until it ends; gives the exit code, 128 and more for a signal.
    ///
    /// `waitUntilExit` learns of the end through a socket that another child may hold open for as long as it
    /// lives: two tests whose children hold each other's wait for ever. The kernel's own record does not.
    package func ended() -> Int32 {
        let record = "/proc/\(processIdentifier)/stat"
        while isRunning, let line = try? String(contentsOfFile: record, encoding: .utf8) {
            let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].dropFirst().split(
                separator: " ")
            if fields.first == "Z", let status = fields.last.flatMap({ Int32($0.filter(\.isNumber)) }) {
                return status & 0x7f == 0 ? status >> 8 : 128 + (status & 0x7f)
            }
            usleep(2000)
        }
        // Taken from the kernel already: Foundation knows how it ended, or is about to.
        while isRunning { usleep(1000) }
        return terminationReason == .exit ? terminationStatus : 128 + terminationStatus
    }
}
