import CofferEngine
import Foundation
import Testing
import TestSupport

/// An unlock is stopped while it waits for the home's lock, so that what another process does falls in the
/// middle of it.
@Suite(
    "coffer unlock, and a lock elsewhere", .enabled(if: Namespace.isAvailable && KernelKeyring.isAvailable))
struct UnlockInFlightTests {
    /// Runs `deed` while an unlock has been stopped; prints its exit code, the unlock's, and how many keys
    /// there are then.
    private func run(_ deed: String, before: String = "true") throws -> CommandRun {
        let script = """
            cd "$1" || exit 89; printf '2468\\n' >p
            "$0" init --home a --keyring file --kdf-memory 8 --kdf-passes 2 \
                --passcode-fd 3 3<p >out || exit 90
            id=$("$0" status --home a | sed -n 's/^vaultID: //p')
            marks() { awk '$2 !~ /i$/' /proc/keys | grep "coffer:$id:unlocking:"; }
            keys() { awk '$2 !~ /i$/' /proc/keys | grep -c "coffer:$id"; }
            \(before)
            exec 9<>a/lock; flock 9 || exit 91
            "$0" unlock --home a --passcode-fd 3 3<p 9<&- 2>err &
            pid=$!; tries=0
            until marks >mark; do tries=$((tries + 1)); [ $tries -lt 5000 ] || exit 92; done
            kill -STOP $pid
            until [ -z "$(grep -L '^State:.T' /proc/$pid/task/*/status)" ]; do :; done
            exec 9<&-
            \(deed); echo $?
            kill -CONT $pid
            wait $pid; echo $?
            keys; marks; true
            """
        let folder = try ScratchDirectory.make()
        return try Namespace.run(script, [folder.path(of: ".")])
    }

    @Test(
        "The lock holds: the unlock fails with locked and leaves no key; marks are not counted as keys",
        arguments: ["lock --home a --json", "lock --all --json"])
    func locked(_ command: String) throws {
        let run = try run("\"$0\" \(command) | grep -o '\"removedKeys\":0'")
        #expect(run.text == "\"removedKeys\":0\n0\n4\n0\n", "\(run.text) \(run.errorText)")
    }

    @Test("Keys that an earlier unlock held, and that a lock leaves, stay as they were")
    func earlier() throws {
        let run = try run(
            "\"$0\" lock --home a --json | grep -o '\"removedKeys\":4'",
            before: "\"$0\" unlock --home a --passcode-fd 3 3<p || exit 93")
        #expect(run.text == "\"removedKeys\":4\n0\n4\n2\n", "\(run.text) \(run.errorText)")
    }

    @Test("Without a lock the unlock resumes where it was and keeps its keys")
    func undisturbed() throws {
        let run = try run("\"$0\" status --home a >out")
        #expect(run.code == 0 && run.text == "0\n0\n6\n", "\(run.text) \(run.errorText)")
    }

    @Test("A second unlock meanwhile disturbs neither")
    func twice() throws {
        let run = try run("\"$0\" unlock --home a --passcode-fd 3 3<p")
        #expect(run.code == 0 && run.text == "0\n0\n6\n", "\(run.text) \(run.errorText)")
    }

    @Test(
        "An unlock that fails leaves no mark",
        arguments: [
            "rm a/lock; mkdir a/lock", "rm a/vault/attempts; ln -s attempts a/vault/attempts",
            "rm a/vault/keybag", "echo 1111 >p", ": >p", "true >a/state",
        ])
    func failed(_ damage: String) throws {
        let script = """
            cd "$1" || exit 89; printf '2468\\n' >p
            "$0" init --home a --keyring file --kdf-memory 8 --kdf-passes 2 \
                --passcode-fd 3 3<p >out || exit 90
            id=$("$0" status --home a | sed -n 's/^vaultID: //p')
            \(damage)
            "$0" unlock --home a --passcode-fd 3 3<p 2>err && exit 91
            awk '$2 !~ /i$/' /proc/keys | grep -c "coffer:$id"
            true
            """
        let folder = try ScratchDirectory.make()
        let run = try Namespace.run(script, [folder.path(of: ".")])
        #expect(run.code == 0 && run.text == "0\n", "\(run.text) \(run.errorText)")
    }

    @Test("A killed unlock leaves a mark that expires by itself, or with any lock")
    func killed() throws {
        let run = try run(
            """
            kill -KILL $pid
            grep -c '^[0-9a-f]* [^ ]* *[0-9]* *[0-9]*[sm] ' mark
            "$0" lock --home a --json | grep -o '"removedKeys":0'; marks
            """)
        #expect(run.text == "1\n\"removedKeys\":0\n1\n137\n0\n", "\(run.text) \(run.errorText)")
    }

    @Test("A wipe meanwhile leaves no key of any class")
    func wiped() throws {
        let run = try run("\"$0\" wipe --yes --home a >out")
        #expect(run.code == 0 && run.text == "0\n6\n0\n", "\(run.text) \(run.errorText)")
    }
}
