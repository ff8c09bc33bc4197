#if SecretService
    import Foundation
    import Testing
    import TestSupport

    /// The command on a bus of its own with a real gnome-keyring.
    @Suite("coffer on the Secret Service")
    struct SecretServiceCommandTests {
        private let scratch: ScratchDirectoryOwner
        private let home: String

        init() throws {
            scratch = try ScratchDirectoryOwner()
            home = scratch.path + "/home"
        }

        private func run(
            _ bus: String, _ arguments: String..., input: [UInt8] = [], seconds: Double = 180
        ) throws -> CommandRun {
            try CommandRun.run(
                CommandRun.cofferPath, arguments + ["--home", home], input: input,
                environment: ["DBUS_SESSION_BUS_ADDRESS": bus, "XDG_RUNTIME_DIR": ""], seconds: seconds)
        }

        private func initialise(_ bus: String, _ keyring: String) throws -> CommandRun {
            try run(bus, "init", "--no-passcode", "--json", "--keyring", keyring)
        }

        @Test("Without a bus or a service, init says so and makes nothing; auto takes the file")
        func nothingThere() throws {
            let noBus = try initialise("", "secret-service")
            #expect(noBus.code == 8 && noBus.errorCode == "noSessionBus")
            let dead = try initialise("unix:path=/nonexistent", "secret-service")
            #expect(dead.code == 8 && dead.errorCode == "noSessionBus")
            let bus = try #require(try PrivateKeyring(running: false))
            let noService = try initialise(bus.address, "secret-service")
            #expect(noService.code == 8 && noService.errorCode == "noSecretService")
            #expect(!FileManager.default.fileExists(atPath: home))
            #expect(try initialise(bus.address, "auto").json["keyring"] as? String == "file")
        }

        @Test("A vault in the keyring, from init to wipe")
        func whole() throws {
            let service = try #require(try PrivateKeyring())
            let bus = service.address
            #expect(try initialise(bus, "auto").json["keyring"] as? String == "secret-service")
            let value = Array("a\nb\0c\\\n".utf8)
            #expect(try run(bus, "token", "put", "s", "a", input: value).code == 0)
            try service.restart()
            #expect(try run(bus, "token", "get", "s", "a").output == value)
            #expect(try run(bus, "status", "--json").json["keyring"] as? String == "secret-service")
            try service.lock()
            let locked = try run(bus, "token", "get", "s", "a", "--json")
            #expect(locked.code == 4 && locked.errorCode == "keyringLocked")
            let asked = try run(bus, "token", "get", "s", "a", "--json", "--allow-prompt")
            #expect(asked.code == 4 && asked.errorCode == "noPrompter")
            try service.restart()
            try prompts(service)
            #expect(try run("", "token", "get", "s", "a").code == 8)
            let moved = try run(bus, "keyring", "move", "--to", "file", "--json")
            #expect(moved.json["tokens"] as? Int == 1 && moved.json["left"] as? Int == 0)
            #expect(try run("", "token", "get", "s", "a").output == value)
            #expect(try run(bus, "keyring", "move", "--to", "file").code == 13)
            #expect(try run(bus, "keyring", "move", "--to", "secret-service").code == 0)
            #expect(try run(bus, "wipe", "--yes").code == 0)
            #expect(try service.items().isEmpty)
        }

        /// The setting has the keyring ask as the option does, but not for completion.
        private func prompts(_ service: PrivateKeyring) throws {
            let bus = service.address
            #expect(try run(bus, "settings", "--keyring-prompts", "on").code == 0)
            try service.lock()
            #expect(try run(bus, "token", "get", "s", "a", "--json").errorCode == "noPrompter")
            let names = try CommandRun.run(
                CommandRun.cofferPath, ["file", "names"],
                environment: ["DBUS_SESSION_BUS_ADDRESS": bus, "XDG_RUNTIME_DIR": "", "COFFER_HOME": home])
            #expect(names.code == 4 && names.output.isEmpty, "\(names.errorText)")
            try service.restart()
            #expect(try run(bus, "settings", "--keyring-prompts", "off").code == 0)
            try service.lock()
            #expect(try run(bus, "token", "get", "s", "a", "--json").errorCode == "keyringLocked")
            try service.restart()
        }

        @Test("Moving to the file names the passcode's option, and does not call the vault locked")
        func moveWithoutPasscode() throws {
            let service = try #require(try PrivateKeyring())
            let made = try CommandRun.run(
                CommandRun.cofferPath,
                ["init", "--keyring", "secret-service", "--passcode-fd", "3", "--home", home]
                    + CommandHome.cheap,
                descriptors: [3: Array("2468\n".utf8)],
                environment: ["DBUS_SESSION_BUS_ADDRESS": service.address, "XDG_RUNTIME_DIR": ""])
            try #require(made.code == 0, "\(made.errorText)")
            let moved = try run(service.address, "keyring", "move", "--to", "file")
            #expect(moved.code == 4 && moved.errorText.contains("--passcode-fd"), "\(moved.errorText)")
            #expect(!moved.errorText.contains("is locked"))
            #expect(try run(service.address, "wipe", "--yes").code == 0)
        }

        @Test("doctor tells a collection without a password")
        func doctor() throws {
            let plain = try #require(try PrivateKeyring(.plainText))
            #expect(try initialise(plain.address, "secret-service").code == 0)
            let checks = try run(plain.address, "doctor", "--json").json["checks"] as? [[String: Any]]
            for name in ["device-key", "secret-service"] {
                let check = checks?.first { $0["name"] as? String == name }
                #expect(check?["status"] as? String == "advisory")
                #expect((check?["message"] as? String)?.contains("no password") == true)
            }
            try plain.kill()
            let without = try run(plain.address, "doctor", "--json")
            #expect(without.code == 0)
        }

        @Test("With a stopped service every command ends")
        func stopped() throws {
            let service = try #require(try PrivateKeyring())
            #expect(try initialise(service.address, "secret-service").code == 0)
            service.stop()
            defer { service.resume() }
            let get = try run(service.address, "token", "get", "s", "a", "--json", seconds: 40)
            #expect(get.code == 9 && get.errorCode == "timedOut")
            #expect(try run(service.address, "doctor", seconds: 40).code == 0)
            let wipe = try run(service.address, "wipe", "--yes", "--json", seconds: 40)
            #expect(wipe.code == 0)
            #expect("\(wipe.json["unproved"] ?? "")".contains("Secret Service"))
            service.resume()
            #expect(try run(service.address, "status", "--json").json["state"] as? String == "wiped")
            #expect(try service.items().isEmpty)
        }

        @Test(
            "Completion gives up on a stopped service before the service's own deadline",
            arguments: [
                "file names", "---completion token get -- positional@0 3 0 coffer token get x",
                "---completion soup show -- positional@0 3 0 coffer soup show x",
            ])
        func completion(_ question: String) throws {
            let service = try #require(try PrivateKeyring())
            #expect(try initialise(service.address, "secret-service").code == 0)
            service.stop()
            defer { service.resume() }
            let run = try CommandRun.run(
                CommandRun.cofferPath, question.split(separator: " ").map(String.init),
                environment: [
                    "DBUS_SESSION_BUS_ADDRESS": service.address, "XDG_RUNTIME_DIR": "", "COFFER_HOME": home,
                ], seconds: 60)
            #expect(run.code == 9 && run.output.isEmpty && run.errors.isEmpty, "\(run.errorText)")
        }

        /// Killed at one moment after the other: everything is in one place, and moving goes on.
        @Test("A move that is killed loses nothing")
        func killedMoves() throws {
            let service = try #require(try PrivateKeyring())
            let bus = service.address
            #expect(try initialise(bus, "file").code == 0)
            for number in 0..<8 {
                #expect(try run(bus, "token", "put", "s\(number)", "a", input: [UInt8(number)]).code == 0)
            }
            let before = try run(bus, "token", "list", "--json").output
            var kills = 0
            for round in 0..<24 {
                let keyring = try run(bus, "status", "--json").json["keyring"] as? String
                let target = keyring == "file" ? "secret-service" : "file"
                let move = try run(
                    bus, "keyring", "move", "--to", target, seconds: 0.01 + 0.006 * Double(round))
                kills += move.code == 137 ? 1 : 0
                #expect(move.code == 0 || move.code == 137)
                #expect(try run(bus, "token", "list", "--json").output == before, "round \(round)")
                let now = try run(bus, "status", "--json").json["keyring"] as? String
                // What lies in the other place was removed when the home was opened.
                #expect(try service.items().count == (now == "file" ? 0 : 9), "round \(round)")
            }
            #expect(kills > 0)
        }
    }

    /// A directory that goes with its owner.
    private final class ScratchDirectoryOwner {
        let path: String

        init() throws {
            path =
                FileManager.default.temporaryDirectory.path(percentEncoded: false)
                + "/coffer-test-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }
#endif
