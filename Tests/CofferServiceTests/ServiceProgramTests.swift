#if SecretService
    import Foundation
    import Testing
    import TestSupport

    /// The programs in `Tests/SecretService`, which start `coffer serve` on a bus of their own and say on
    /// standard output what is wrong.
    @Suite("coffer serve, seen from the bus")
    struct ServiceProgramTests {
        /// Whether Python's bindings for D-Bus and GLib, a bus and gnome-keyring are installed.
        static let isReady: Bool =
            (try? CommandRun.run(
                "/usr/bin/python3", ["-c", "import dbus, gi, cryptography"], seconds: 60))?.code == 0
            && ["/usr/bin/dbus-daemon", "/usr/bin/gnome-keyring-daemon"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: $0)
            }

        private func run(_ program: String, _ arguments: String..., seconds: Double = 300) throws {
            let path = PackageRoot.path + "Tests/SecretService/" + program
            let run = try CommandRun.run(
                "/usr/bin/python3", [path, CommandRun.cofferPath] + arguments, seconds: seconds)
            #expect(run.code == 0, "\(run.text)\(run.errorText)")
        }

        @Test(
            "Every law of the Secret Service holds, and gnome-keyring differs where it is known to",
            .enabled(if: isReady))
        func contract() throws { try run("contract.py") }

        @Test("Real programs store, find, read, lock and delete", .enabled(if: isReady))
        func programs() throws { try run("programs.py") }

        @Test("Chromium, QtKeychain and Seahorse work with it", .enabled(if: isReady))
        func desktop() throws { try run("desktop.py") }

        @Test("Prompts end, and locks, unlocks and wipes are told", .enabled(if: isReady))
        func prompts() throws { try run("prompts.py") }

        @Test("Kills lose nothing that was acknowledged", .enabled(if: isReady))
        func kills() throws { try run("kills.py", "40") }

        @Test("A full disk loses nothing", .enabled(if: isReady))
        func disk() throws { try run("disk.py") }

        @Test(
            "The administrator's policy limits the life of secrets, and a mistake stops the start",
            .enabled(if: isReady && getuid() == 0, "the policy must belong to root"))
        func policy() throws { try run("policy.py") }

        @Test("Hostile programs neither end nor hang the service", .enabled(if: isReady))
        func hostile() throws { try run("hostile.py") }

        @Test("Two services on one vault undo nothing of each other's", .enabled(if: isReady))
        func shared() throws { try run("shared.py") }

        @Test("The README's recipes work as they are printed", .enabled(if: isReady))
        func recipes() throws { try run("recipes.py") }

        @Test("The command: a private bus, status, install, and a name that is taken", .enabled(if: isReady))
        func command() throws { try run("command.py") }
    }
#endif
