import CofferBase
import CofferEngine
import CofferVault
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("The directory with the policy")
struct PolicyDirectoryTests {
    /// A directory etc/coffer/policy.d in a scratch directory.
    private final class Tree {
        let root: ScratchDirectory
        let policy: PolicyDirectory
        let folder: Descriptor

        init() throws {
            let root = try ScratchDirectory.make()
            try root.descriptor.setPermissions(0o755)
            let owner = try root.descriptor.status().owner
            policy = PolicyDirectory(
                below: root.path, components: ["etc", "coffer", "policy.d"], owner: owner)
            try FileManager.default.createDirectory(
                atPath: root.path(of: "etc/coffer/policy.d"), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o755])
            let path = root.path.appending("etc/coffer/policy.d")
            folder = try Descriptor.open(path, [.read, .directory])
            self.root = root
        }

        func write(_ name: FilePath, _ text: String) throws {
            try folder.replace(name, with: Array(text.utf8).span, permissions: 0o644)
        }
    }

    private func code(_ policy: PolicyDirectory) -> CofferError.Code? { failure { _ = try policy.read() } }

    @Test("Without a directory or a file there is no policy")
    func absent() throws {
        let tree = try Tree()
        #expect(try tree.policy.read() == .none)
        try tree.write("README", "{")
        try tree.write(".hidden.json", "{")
        try tree.write("10.json~", "{")
        try tree.write("10.JSON", "{")
        #expect(try tree.policy.read() == .none)
        for gone in ["etc/coffer/policy.d", "etc/coffer", "etc"] {
            try FileManager.default.removeItem(atPath: tree.root.path(of: gone))
            #expect(try tree.policy.read() == .none, "\(gone)")
        }
    }

    @Test("Of restrictions the strictest counts, of other keys the last file, of servers a whole group")
    func order() throws {
        let tree = try Tree()
        try tree.write(
            "20.json",
            """
            {"PasscodeMinimumLength": 6, "AllowExport": true, "ManagedAppOAuthID": "second",
             "AppServiceHosts": "b.org", "InactivityMinutes": 0}
            """)
        try tree.write(
            "10.plist",
            """
            <plist><dict><key>PasscodeMinimumLength</key><integer>8</integer><key>AllowExport</key><false/>
            <key>ManagedAppOAuthID</key><string>first</string><key>InactivityMinutes</key><integer>5</integer>
            <key>AppServiceHosts</key><string>a.org</string><key>AppServiceHostLabels</key><string>A</string>
            <key>OnlyShowAuthorizedHosts</key><true/></dict></plist>
            """)
        let policy = try tree.policy.read()
        #expect(policy[.passcodeMinimumLength] == .number(8))
        #expect(policy[.allowExport] == .flag(false))
        #expect(policy[.inactivityMinutes] == .number(5))
        #expect(policy[.managedAppOAuthID] == .text("second"))
        #expect(policy[.appServiceHosts] == .list(["https://b.org"]))
        #expect(policy[.appServiceHostLabels] == nil)
        #expect(policy[.onlyShowAuthorizedHosts] == nil)
        let file = tree.root.path(of: "etc/coffer/policy.d/10.plist")
        #expect(policy.origins(of: .allowExport).map(\.description) == ["\(file):1"])
        #expect(policy.origins(of: .inactivityMinutes).map(\.description) == ["\(file):2"])
        #expect(policy.origins(of: .managedAppOAuthID).map(\.line) == [1])
    }

    @Test("A mistake in one file is an error with every finding of all files")
    func mistakes() throws {
        let tree = try Tree()
        try tree.write("10.json", "{\"AllowExport\": false}")
        try tree.write("20.json", "{\n\"AllowExport\": \"no\",\n\"ContactDays\": 0}")
        try tree.write("30.plist", "<plist>")
        do throws(CofferError) {
            _ = try tree.policy.read()
            Issue.record("A policy with mistakes was read.")
        } catch {
            #expect(error.code == .policyInvalid)
            #expect(error.entries.count == 3)
            #expect(error.message.contains("20.json: line 2: AllowExport"))
            #expect(error.entries[1].contains("20.json: line 3: ContactDays"))
            #expect(error.entries[2].contains("30.plist: line 1"))
        }
    }

    @Test("Whatever others own or can write to, links, pipes and directories are not trusted")
    func untrusted() throws {
        for path in ["etc", "etc/coffer", "etc/coffer/policy.d", "etc/coffer/policy.d/10.json"] {
            for bits in [0o020, 0o002, 0o022] as [UInt32] {
                let tree = try Tree()
                try tree.write("10.json", "{}")
                #expect(code(tree.policy) == nil)
                let mode: Descriptor.Mode = path.hasSuffix("json") ? .read : [.read, .directory]
                try Descriptor.open(tree.root.path.appending(path), mode).setPermissions(0o755 | bits)
                #expect(code(tree.policy) == .policyInvalid, "\(path) \(bits)")
            }
        }
        let tree = try Tree()
        try tree.write("10.json", "{}")
        let other = PolicyDirectory(
            below: tree.root.path, components: ["etc", "coffer", "policy.d"], owner: 4_000_000_000)
        #expect(code(other) == .policyInvalid)
        // As in a container without a policy, whose directories belong to nobody in particular.
        let nowhere = PolicyDirectory(
            below: tree.root.path, components: ["etc", "other", "policy.d"], owner: 4_000_000_000)
        #expect(try nowhere.read() == .none)
        try tree.root.write("elsewhere", Array("{}".utf8))
        let path = tree.root.path(of: "etc/coffer/policy.d/20.json")
        let elsewhere = tree.root.path(of: "elsewhere")
        let commands = [
            "ln -s '\(elsewhere)'", "ln -s /nowhere", "mkfifo", "mkdir -m 755", "ln -s /dev/zero",
        ]
        for command in commands {
            #expect(try CommandRun.run("sh", ["-c", "\(command) '\(path)'"]).code == 0)
            #expect(code(tree.policy) == .policyInvalid, "\(command)")
            try FileManager.default.removeItem(atPath: path)
            #expect(code(tree.policy) == nil)
        }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        do throws(CofferError) {
            _ = try tree.policy.read()
            Issue.record("A directory was read as a policy.")
        } catch {
            #expect(
                error.message.hasPrefix("The administrator's policy is invalid. \(path) cannot be trusted"))
            #expect(error.entries.count == 1 && error.entries[0].hasPrefix(path))
        }
        try FileManager.default.removeItem(atPath: path)
        let real = tree.root.path(of: "etc/coffer")
        try FileManager.default.moveItem(atPath: real, toPath: real + "2")
        try FileManager.default.createSymbolicLink(atPath: real, withDestinationPath: "coffer2")
        #expect(code(tree.policy) == .policyInvalid)
    }

    @Test("Size and number of files are limited")
    func limits() throws {
        let tree = try Tree()
        let size = PolicyDocument.maxByteCount
        try tree.write("10.json", "{}" + String(repeating: " ", count: size - 2))
        #expect(code(tree.policy) == nil)
        try tree.write("10.json", "{}" + String(repeating: " ", count: size - 1))
        #expect(code(tree.policy) == .policyInvalid)
        try tree.write("10.json", "{}")
        for number in 0..<PolicyDirectory.maxFiles { try tree.write(FilePath("x\(number).json"), "{}") }
        #expect(code(tree.policy) == .policyInvalid)
        _ = try tree.folder.remove("10.json")
        #expect(code(tree.policy) == nil)
    }

    @Test("The digest changes with every byte and every name, and unknown keys are noticed")
    func digest() throws {
        let tree = try Tree()
        try tree.write("10.json", "{}")
        let first = try tree.policy.read()
        #expect(first.digest?.count == 32)
        try tree.write("10.json", "{} ")
        let second = try tree.policy.read()
        try tree.folder.rename("10.json", to: "11.json")
        let third = try tree.policy.read()
        #expect(Set([first.digest, second.digest, third.digest]).count == 3)
        #expect(first.notices.isEmpty)
        try tree.write("10.json", "{\"AlowExport\": false}")
        #expect(try tree.policy.read().notices.first?.contains("AllowExport") == true)
    }

    @Test("A file that gets another name while the policy is read is not missed", .timeLimit(.minutes(2)))
    func renames() throws {
        let tree = try Tree()
        try tree.write("a.json", "{\"AllowExport\": false}")
        let folder = try Descriptor.open(tree.policy.path, [.read, .directory])
        let renaming = Thread {
            for _ in 0..<20_000 {
                try? folder.rename("a.json", to: "b.json")
                try? folder.rename("b.json", to: "a.json")
            }
        }
        renaming.start()
        while !renaming.isFinished {
            do throws(CofferError) {
                let policy = try tree.policy.read()
                #expect(policy[.allowExport] == .flag(false))
            } catch {
                #expect(error.code == .policyInvalid, "\(error)")
            }
        }
        #expect(try tree.policy.read()[.allowExport] == .flag(false))
    }

    @Test("A new directory can be read by every user from the moment it has its name")
    func installInNewDirectories() throws {
        let tree = try Tree()
        let folder = FilePath(tree.root.path(of: "etc"))
        try FileManager.default.removeItem(atPath: tree.root.path(of: "etc/coffer"))
        // What a killed installation left.
        try FileManager.default.createDirectory(
            atPath: tree.root.path(of: "etc/.coffer.new"), withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        _ = try tree.policy.install(Array("{\"AllowExport\": false}".utf8), named: "a.json")
        let directory = try Descriptor.open(folder, [.read, .directory])
        #expect(try directory.names().map(\.string) == ["coffer"])
        for path in ["coffer", "coffer/policy.d"] as [FilePath] {
            #expect(try directory.status(of: path)?.permissions == 0o755, "\(path)")
        }
        #expect(try tree.policy.read()[.allowExport] == .flag(false))
    }

    @Test("A file is installed for everyone, in place of an older one, and a mistaken one is not")
    func install() throws {
        let tree = try Tree()
        try FileManager.default.removeItem(atPath: tree.root.path(of: "etc/coffer"))
        let text = Array("{\"AllowExport\": false}".utf8)
        #expect(try tree.policy.install(text, named: "10.json") == tree.policy.path.appending("10.json"))
        #expect(try tree.policy.read()[.allowExport] == .flag(false))
        let paths: [(FilePath, UInt32)] = [
            ("etc/coffer", 0o755), ("etc/coffer/policy.d", 0o755), ("etc/coffer/policy.d/10.json", 0o644),
        ]
        for (path, bits) in paths {
            let file = tree.root.path.pushing(path)
            #expect(try FileStatus.at(file).permissions == bits, "\(path)")
        }
        _ = try tree.policy.install(Array("{}".utf8), named: "10.json")
        #expect(try tree.policy.read()[.allowExport] == nil)
        for name in [
            "10", "10.toml", ".10.json", "a/10.json", "..", "", "10.json/", "\u{0}.json", "a\nb.json",
            "\u{E9}.json",
        ] {
            #expect(
                failure { _ = try tree.policy.install(text, named: name) } == .invalidInput, "\(name)")
        }
        #expect(
            failure { _ = try tree.policy.install(Array("{".utf8), named: "10.json") } == .invalidInput)
        #expect(
            failure { _ = try tree.policy.install(text, named: "10.plist") } == .invalidInput)
        #expect(try tree.policy.read()[.allowExport] == nil)
    }
}
