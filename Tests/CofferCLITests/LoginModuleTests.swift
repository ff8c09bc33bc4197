import Foundation
import Testing
import TestSupport

/// Whether this is root, for the users that the scenarios make up, with what they need.
private enum LoginModuleNeeds {
    static let areThere =
        (try? CommandRun.run(
            "unshare",
            [
                "-m", "sh", "-c",
                "[ \"$(id -u)\" = 0 ] && [ -e /usr/include/security/pam_modules.h ] && [ ! -e \"$1\" ] "
                    + "&& command -v cc setpriv su login openssl pamtester valgrind "
                    + "&& ls /usr/lib/*/pam_wrapper/pam_matrix.so && mount --bind /etc/pam.d /etc/pam.d",
                "sh", Sanitizer.isOn ? "/" : "/nonexistent",
            ]))?.code == 0

    /// The scenario that needs a disk of its own, if one can be made here.
    static let disks =
        (try? CommandRun.run(
            "unshare",
            [
                "-m", "sh", "-c",
                "cd \"$(mktemp -d)\" && mkdir disk && truncate -s 8M image && mkfs.ext4 -q -F image "
                    + "&& mount -o loop image disk && fsfreeze -f disk && fsfreeze -u disk && umount disk "
                    + "&& rm -r \"$PWD\"",
            ]))?.code == 0 ? ["stalled"] : []
}

/// Runs the scenarios of Tests/PAM/pam_coffer.py: real logins with pam_coffer.so.
@Suite("pam_coffer.so unlocks a vault at login", .serialized, .enabled(if: LoginModuleNeeds.areThere))
struct LoginModuleTests {
    @Test(
        "A login unlocks the vault of its own user and is never kept from going on",
        arguments: [
            "su", "login", "wrong", "different", "spared", "no_passcode", "homes", "full", "read_only",
            "hanging", "peer", "environment", "programs", "passwords", "applications", "alone", "pamtester",
            "memory",
        ] + LoginModuleNeeds.disks)
    func scenario(_ name: String) throws {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/PAM/pam_coffer.py", "--coffer", CommandRun.cofferPath, "--only",
                name,
            ],
            seconds: 300)
        #expect(run.code == 0 && run.text == "\(name) ok\n", "\(run.text)\(run.errorText)")
    }
}

@Suite("coffer unlock --from-login")
struct UnlockFromLoginTests {
    @Test("A wrong login password costs one attempt, then none is tried until the passcode was right")
    func sparing() throws {
        let home = try CommandHome("--attempt-delays", "off")
        let login = ["unlock", "--from-login", "--json"]
        #expect(try home.run(login, passcode: "1357").errorCode == "wrongPasscode")
        #expect(try home.status()["attemptsLeft"] as? Int == 9)
        for password in ["1357", "2468", "8642"] {
            let run = try home.run(login, passcode: password)
            #expect(run.code == 11 && run.errorCode == "refused", "\(password)")
            #expect(try home.status()["attemptsLeft"] as? Int == 9)
        }
        // The passcode itself, which is no login's, opens the vault and ends this.
        #expect(try home("token", "list").code == 0)
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
        #expect(try [0, 8].contains(home.run(login).code))
        #expect(try home.run(["lock"], passcode: "").code == 0)
    }

    @Test("A login password is not tried where it could erase the vault, and is counted where nothing erases")
    func limits() throws {
        let last = try CommandHome("--attempt-delays", "off")
        for guess in 0..<9 {
            #expect(try last.run(["unlock"], passcode: "wrong \(guess)").code == 5)
        }
        #expect(try last.run(["unlock", "--from-login"], passcode: "another").code == 11)
        #expect(try last.status()["attemptsLeft"] as? Int == 1)
        #expect(try last("token", "list").code == 0)
        let lasting = try CommandHome("--erase-after", "never")
        #expect(try lasting.run(["unlock", "--from-login"], passcode: "another").code == 5)
        #expect(try lasting.run(["unlock", "--from-login"], passcode: "2468").code == 11)
        #expect(try lasting("token", "list").code == 0)
    }

    @Test("It needs a descriptor, asks nobody, and leaves a vault without a passcode as it is")
    func arguments() throws {
        let home = try CommandHome()
        #expect(try home.run(["unlock", "--from-login"], passcode: "").errorText.contains("--passcode-fd"))
        #expect(try home("unlock", "--from-login", "--allow-prompt").code != 0)
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
        let open = try CommandHome(passcode: nil)
        let run = try open.run(["unlock", "--from-login"], passcode: "anything")
        #expect(run.code == 0 && run.errorText.contains("no passcode"))
    }
}
