import Coffer
import CofferBase
import CofferEngine
import SystemPackage
import TestSupport
import Testing

/// An anchor on a mount that answers nothing, such as a network file system whose server is gone.
@Suite("Silent anchors", .timeLimit(.minutes(2)))
struct SilentAnchorTests {
    /// A FUSE mount that nobody serves, until it reads a line.
    private static let mount = """
        import ctypes, os, sys
        device = os.open("/dev/fuse", os.O_RDWR)
        options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % device
        libc = ctypes.CDLL(None)
        place = os.fsencode(sys.argv[1])
        print("ready" if libc.mount(b"none", place, b"fuse", 0, options) == 0 else "no mount", flush=True)
        sys.stdin.readline()
        """

    private static let isPossible =
        TestUser.isRoot && (try? Descriptor.open("/dev/fuse", [.readWrite])) != nil

    @Test(
        "A place that does not answer is given up, is waited for once, and is no reason not to lock",
        .enabled(if: isPossible, "only root can mount what does not answer"))
    func silent() async throws {
        let home = try TestHome()
        let passcode = try Passcode(copying: "correct horse")
        let vault = try await home.create("correct horse")
        try home.scratch.descriptor.makeDirectory("mount")
        let place = home.scratch.path(of: "mount")
        try await vault.setAnchor(at: place + "/anchor", passcode: passcode)
        let helper = try #require(Helper(["python3", "-c", Self.mount, place]))
        defer { _ = try? CommandRun.run("umount", ["-l", place]) }
        let first = await refusal { _ = try await home.unlocked("correct horse") }
        #expect(first?.code == .anchorLost, "\(String(describing: first))")
        let second = await refusal { _ = try await home.unlocked("correct horse") }
        #expect(second?.code == .anchorLost)
        #expect(second?.message.contains("has not answered for some time") == true)
        vault.lock()
        let problems = try await vault.anchors().map(\.problem?.code)
        #expect(problems == [.anchorLost])
        #expect(try await vault.removeAnchor(.file, passcode: passcode))
        _ = try await home.unlocked("correct horse")
        helper.send("end")
        #expect(helper.end() == 0)
    }
}
