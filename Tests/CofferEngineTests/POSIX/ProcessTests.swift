import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Child processes")
struct ChildProcessTests {
    private func run(_ arguments: String...) throws -> Int32 {
        try ChildProcess.run(arguments.map { Array($0.utf8) })
    }

    @Test("A child's exit code reaches the caller", arguments: [0, 1, 7, 64, 255] as [Int32])
    func givesTheExitCode(code: Int32) throws {
        #expect(try run("sh", "-c", "exit \(code)") == code)
    }

    @Test("A signal that ends a child becomes 128 plus its number", arguments: [1, 9, 15] as [Int32])
    func givesTheSignal(signal: Int32) throws {
        #expect(try run("sh", "-c", "kill -\(signal) $$") == 128 + signal)
    }

    @Test("Arguments arrive byte for byte, with no shell between")
    func argumentsArriveAsTheyAre() throws {
        let odd = " a b\n'\"$HOME *é"
        #expect(try run("sh", "-c", "test \"$1\" = \"$2\" && test $# -eq 2", "sh", odd, odd) == 0)
        #expect(try ChildProcess.run([Array("test".utf8), Array("-z".utf8), []]) == 0)
        #expect(
            try ChildProcess.run([Array("test".utf8), [0xff, 0xfe], Array("=".utf8), [0xff, 0xfe]]) == 0)
    }

    @Test("An empty command, a NUL and a missing program are refused")
    func refusesWhatIsNotACommand() {
        #expect(failure { _ = try ChildProcess.run([]) } == .invalidInput)
        #expect(failure { _ = try run("true", "a\0b") } == .invalidInput)
        for program in ["/coffer-no-such-program", "coffer-no-such-program", "/", "/etc/passwd/x"] {
            #expect(failure { _ = try run(program) } == .invalidInput)
        }
    }

    @Test("A child inherits no descriptor")
    func descriptorsAreNotInherited() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("secret", [1])
        let file = try scratch.descriptor.open("secret", .read)
        let copy = try file.duplicate()
        let isInherited = "for d in /proc/$$/fd/*; do test \"$d\" -ef \"$0\" && exit 1; done; exit 0"
        #expect(try run("sh", "-c", isInherited, scratch.path(of: "secret")) == 0)
        #expect(try run("sh", "-c", "exec 5<\"$0\"; \(isInherited)", scratch.path(of: "secret")) == 1)
        try copy.close()
        try file.close()
    }
}

@Suite("Clock")
struct ClockTests {
    /// The kernel's own account of the time since boot, in hundredths of a second.
    private func uptime() throws -> Duration {
        let text = try Helper.run(["cat", "/proc/uptime"]).output
        let seconds = try #require(text.split(separator: " ").first.flatMap { Double($0) })
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }

    @Test("The clock counts from boot, as the kernel's uptime does")
    func countsFromBoot() throws {
        let before = try uptime()
        let now = Clock.sinceBoot
        let after = try uptime()
        #expect(now >= before)
        #expect(now <= after + .milliseconds(10))
        #expect(Clock.sinceBoot >= now)
    }

    @Test("The wall clock is the system's")
    func theWallClockIsTheSystems() {
        let before = Date.now.timeIntervalSince1970
        let wall = Clock.wall
        let after = Date.now.timeIntervalSince1970
        let seconds = Double(wall.components.seconds) + Double(wall.components.attoseconds) / 1e18
        #expect(seconds >= before - 1e-3)
        #expect(seconds <= after + 1e-3)
    }

    @Test("Sleep lasts at least as long as was asked")
    func sleepsAtLeastAsLongAsAsked() {
        let before = Clock.sinceBoot
        Clock.sleep(for: .milliseconds(2))
        #expect(Clock.sinceBoot - before >= .milliseconds(2))
    }

    @Test("The boot identifier is the kernel's")
    func theBootIdentifierIsTheKernels() throws {
        let text = try Helper.run(["cat", "/proc/sys/kernel/random/boot_id"]).output
        #expect(try Clock.bootIdentifier() == text.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}

@Suite("File systems")
struct FileSystemInfoTests {
    @Test("A directory's file system has free space, can be written, and is in memory or not")
    func ordinaryDirectories() throws {
        let scratch = try ScratchDirectory.make()
        let info = try FileSystemInfo.of(scratch.descriptor)
        #expect(info.available > 0)
        #expect(!info.isReadOnly)
        let type = try Helper.run(["stat", "-f", "-c", "%T", scratch.path.string]).output
        #expect(info.isMemory == (type == "tmpfs\n" || type == "ramfs\n"))
    }

    @Test(
        "A small file system in memory is recognized, with its free space",
        .enabled(if: TinyFileSystem.isAvailable, "needs unshare -Urm"))
    func memoryAndSpace() throws {
        let tiny = try #require(try TinyFileSystem.make())
        let info = try FileSystemInfo.of(try tiny.open())
        #expect(info.isMemory)
        #expect(info.available > 0 && info.available <= 16_384)
    }

    @Test("Swap is active when the kernel lists any")
    func swapIsWhatTheKernelLists() throws {
        let lines = try Helper.run(["cat", "/proc/swaps"]).output.split(separator: "\n")
        #expect(FileSystemInfo.isSwapActive() == (lines.count > 1))
    }
}

@Suite("Process hardening")
struct ProcessHardeningTests {
    @Test("Hardening switches core dumps off")
    func switchesCoreDumpsOff() async {
        await #expect(processExitsWith: .success) {
            try ProcessHardening.apply()
            let limits = try String(contentsOfFile: "/proc/self/limits", encoding: .utf8)
            let line = try #require(
                limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
            #expect(line.split(separator: " ").suffix(3) == ["0", "0", "bytes"])
        }
    }

    /// A process that may not be dumped belongs to root in `/proc`; as root that shows nothing.
    @Test("Hardening makes the process's memory root's, so that no other user traces it")
    func nobodyElseMayTraceIt() async {
        await #expect(processExitsWith: .success) {
            try ProcessHardening.apply()
            let attributes = try FileManager.default.attributesOfItem(atPath: "/proc/self/maps")
            #expect(attributes[.ownerAccountID] as? Int == 0)
        }
    }
}
