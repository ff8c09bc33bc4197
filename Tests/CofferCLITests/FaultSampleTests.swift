import Testing
import TestSupport

/// Small samples of what Tests/Faults runs in full: no guess for nothing, and no key left by a power cut.
@Suite("Kills and cuts, in samples")
struct FaultSampleTests {
    private func script(_ name: String, _ options: String...) throws -> CommandRun {
        try CommandRun.run(
            "python3",
            [PackageRoot.path + "Tests/Faults/" + name, "--coffer", CommandRun.cofferPath] + options,
            seconds: 300)
    }

    @Test(
        "Never more than ten guesses, whatever is killed when",
        .enabled(if: PreloadedLibrary.noKeyring != nil))
    func guesses() throws {
        let run = try script("guess_schedules.py", "--schedules", "12", "--rounds", "1", "--jobs", "1")
        #expect(run.code == 0, "\(run.text)\(run.errorText)")
        #expect(run.text.hasSuffix("guesses evaluated, 0 failed\n"))
    }

    @Test(
        "A power cut in a wipe leaves the vault whole or no key at all",
        .enabled(if: PreloadedLibrary.noKeyring != nil))
    func powerCuts() throws {
        let run = try script("wipe_power_cut.py", "--every", "11")
        #expect(run.code == 0, "\(run.text)\(run.errorText)")
        #expect(run.text.hasPrefix("skipped") || run.text.hasSuffix(" 0 failed\n"))
    }

    @Test("A full disk does not stop a wipe; on a read-only one it removes the keys from memory")
    func disks() throws {
        let run = try script("wipe_disks.py")
        #expect(run.code == 0, "\(run.text)\(run.errorText)")
        #expect(run.text.hasPrefix("skipped") || run.text.hasSuffix("0 failed\n"))
    }
}
