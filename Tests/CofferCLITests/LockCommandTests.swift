import CofferEngine
import Foundation
import Testing
import TestSupport

/// Each run has a user namespace of its own, and with it a user keyring: to lock every vault of the user
/// reaches no other test.
@Suite(
    "coffer lock, whatever is broken",
    .enabled(if: Namespace.isAvailable && KernelKeyring.isAvailable))
struct LockCommandTests {
    /// Runs a script beside two unlocked homes, $1/a and $1/b, of which each has a volatile token. `keys`
    /// counts what a lock must take of a vault; `later` is everything else.
    private func run(_ script: String, environment: [String: String] = [:]) throws -> CommandRun {
        let begin = """
            printf '2468\\n' >"$1/p"
            for v in a b; do
                "$0" init --home "$1/$v" --keyring file --kdf-memory 8 --kdf-passes 2 \\
                    --passcode-fd 3 3<"$1/p" >"$1/out" || exit 90
                "$0" unlock --home "$1/$v" --passcode-fd 3 3<"$1/p" || exit 91
                printf x | "$0" token put s a --volatile --home "$1/$v" >"$1/out" || exit 92
                "$0" status --home "$1/$v" | sed -n 's/^vaultID: //p' >"$1/$v.id"
            done
            listed() { awk '$2 !~ /i$/' /proc/keys | grep "coffer:$1" | grep -v ':afterFirstUnlock'; }
            keys() { listed "$(cat "$2/$1.id")" | wc -l; }
            [ "$(keys a "$1")$(keys b "$1")" = 44 ] || exit 93
            cd "$1"
            """
        let folder = try ScratchDirectory.make()
        return try Namespace.run(begin + "\n" + script, [folder.path(of: ".")], environment: environment)
    }

    /// Prints the state record of a vault that was wiped.
    private static let tombstoneOfAnother =
        "{ \"$0\" init --home c --no-passcode --keyring file; \"$0\" wipe --yes --home c; } >made; "
        + "cat c/state"

    @Test(
        "lock removes keys that were hidden from a listing, too",
        arguments: ["syscall(control, 5, key, 0x3e3e0000)", "move(key)"])
    func hidden(_ how: String) throws {
        let run = try run(
            """
            python3 - <<'end' || exit 94
            import ctypes, os
            syscall = ctypes.CDLL(None).syscall
            add, control = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
            # The keys of every other test of this user are here, too: only the own ones change.
            own = tuple("coffer:" + open(name).read().strip() for name in ("a.id", "b.id"))
            ring = syscall(add, b"keyring", b"harmless", None, 0, -4)
            def move(key):
                # Those of a ring of volatile tokens stay where they are.
                if syscall(control, 8, key, ring) == 0: syscall(control, 9, key, -4)
            for line in list(open("/proc/keys")):
                if " user " in line and any(name in line for name in own):
                    key = int(line.split()[0], 16)
                    \(how)
            end
            "$0" lock --home a >out; echo $?
            "$0" token get s a --home a </dev/null 2>err; echo $?
            "$0" unlock --home a </dev/null 2>err; echo $?
            """)
        #expect(run.code == 0 && run.text == "0\n3\n4\n", "\(run.text) \(run.errorText)")
    }

    /// Defines `allow`, which changes the permissions of a key.
    private static let allow = """
        cat >allow.py <<'end'
        import ctypes, os, sys
        control = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
        if ctypes.CDLL(None).syscall(control, 5, int(sys.argv[1], 16), int(sys.argv[2], 16)): sys.exit(1)
        end
        allow() { python3 allow.py "$1" "$2" || exit 94; }
        number() { listed "$(cat a.id):$1:" | cut -d' ' -f1; }
        """

    @Test(
        "A key or ring that another process hid from any look-up is named, and fails lock",
        arguments: ["volatile", "whenUnlocked"])
    func hiddenFromSearch(_ name: String) throws {
        let run = try run(
            Self.allow + "\n"
                + """
                key=$(number \(name))
                allow "$key" 20200000
                "$0" lock --home a --json >out; echo $?
                grep -c "coffer:$(cat a.id):\(name)"'"' out
                grep -c permissionDenied out
                allow "$key" 3f3f0000
                "$0" lock --home a; echo $?
                keys a . ; keys b .
                """)
        #expect(run.code == 0 && run.text == "1\n1\n1\n0\n0\n4\n", "\(run.text) \(run.errorText)")
    }

    @Test(
        "A ring that another process hid is in the receipt as what cannot be proved",
        arguments: ["--tokens", ""])
    func hiddenFromWipe(_ scope: String) throws {
        let run = try run(
            Self.allow + "\n"
                + """
                ring=$(number volatile)
                allow "$ring" 20200000
                "$0" wipe --yes \(scope) --home a >out; echo $?
                sed -n '/^Could not be proved/,$p' out | grep -c "$(cat a.id):volatile"
                allow "$ring" 3f3f0000
                "$0" lock --all; echo $?
                keys a .
                """)
        #expect(run.code == 0 && run.text == "0\n1\n0\n0\n", "\(run.text) \(run.errorText)")
    }

    @Test(
        "lock removes keys in rings within rings, too, with --all and without",
        arguments: ["--home a", "--all"], [1, 6])
    func nested(_ scope: String, _ depth: Int) throws {
        let run = try run(
            """
            python3 - <<'end' || exit 94
            import ctypes, os
            syscall = ctypes.CDLL(None).syscall
            add, control = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
            own = tuple("coffer:" + open(name).read().strip() for name in ("a.id", "b.id"))
            ring = -4
            for level in range(\(depth)):
                ring = syscall(add, b"keyring", b"harmless %d" % level, None, 0, ring)
                # This user may look at it, as at any ring of its own making.
                syscall(control, 5, ring, 0x3f3f0000)
            for line in list(open("/proc/keys")):
                if " user " in line and any(name in line for name in own):
                    key = int(line.split()[0], 16)
                    if syscall(control, 8, key, ring) == 0: syscall(control, 9, key, -4)
            end
            "$0" lock \(scope) --json | grep -c '"failures":\\[\\]'
            keys a . ; keys b .
            """)
        let rest = scope == "--all" ? 0 : 4
        #expect(run.code == 0 && run.text == "1\n0\n\(rest)\n", "\(run.text) \(run.errorText)")
    }

    @Test(
        "The home is sound enough to name its vault: this one is locked, and no other",
        arguments: [
            "true", "rm a/state", "printf x | dd of=a/state bs=1 seek=20 conv=notrunc 2>err",
            "rm a/vault/keybag", "printf x | dd of=a/vault/keybag bs=1 seek=100 conv=notrunc 2>err",
            "rm a/state; mkfifo a/state", "\(Self.tombstoneOfAnother) >a/state",
            "rm -r a/vault/attempts a/vault/tokens a/vault/files",
            "rm a/lock; mkdir a/lock", "descriptors=16",
            "unset XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS HOME",
            "export DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere",
        ])
    func named(_ disturbance: String) throws {
        let run = try run(
            disturbance + "\n"
                + """
                (ulimit -n ${descriptors:-1024}; exec "$0" lock --home a --json) >out; echo $?
                keys a . ; keys b .
                cat out
                """)
        let lines = run.text.split(separator: "\n").map(String.init)
        #expect(run.code == 0 && lines.prefix(3) == ["0", "0", "4"], "\(run.text) \(run.errorText)")
        #expect(lines.last?.contains("\"state\":\"locked\"") == true)
        #expect(lines.last?.contains("\"removedKeys\":4") == true)
    }

    @Test(
        "The home does not name its vault: every vault of the user is locked, and it says so",
        arguments: [
            "rm a/vault/device", "chmod 0777 a", "rm -r a/vault",
            "printf x | dd of=a/vault/device bs=1 seek=20 conv=notrunc 2>err",
            "printf x | dd of=a/vault/device bs=1 seek=100 conv=notrunc 2>err", ": >a/vault/device",
            "rm a/vault/device; mkfifo a/vault/device", "rm a/vault/device; mkdir a/vault/device",
            "rm a/vault/device; ln -s /dev/zero a/vault/device", "rm -r a; mkfifo a", "rm -r a; ln -s a a",
            "rm a/state; cp b/vault/device a/vault/device", "cp b/state a; cp b/vault/device a/vault/device",
            "\(Self.tombstoneOfAnother) >a/state; rm a/vault/device",
        ])
    func unnamed(_ disturbance: String) throws {
        let run = try run(
            disturbance + "\n"
                + """
                "$0" lock --home a --json >out; echo $?
                keys a . ; keys b .
                """)
        #expect(run.code == 0 && run.text == "0\n0\n0\n", "\(run.text) \(run.errorText)")
        #expect(run.errorText.contains("all of this user's vaults were locked"))
    }

    @Test(
        "A missing home: every vault is locked, it says so without advice to make one, and ends with 12",
        arguments: ["mv a c2", "rm -r a", "true"])
    func mistyped(_ disturbance: String) throws {
        let run = try run(
            disturbance + "\n"
                + """
                "$0" lock --home c; echo $?
                keys a . ; keys b .
                "$0" lock --home c --json; echo $?
                COFFER_HOME=c "$0" lock --all; echo $?
                """)
        let lines = run.text.split(separator: "\n").map(String.init)
        try #require(run.code == 0 && lines.count == 6, "\(run.text) \(run.errorText)")
        #expect(lines[0...2] == ["12", "0", "0"] && lines[4...5] == ["12", "0"], "\(run.text)")
        #expect(lines[3].hasPrefix("{\"state\":\"locked\""))
        #expect(lines[3].contains("\"error\":{\"code\":\"notInitialised\""))
        #expect(run.errorText.contains("There is no vault at c, so all of this user's vaults were locked."))
        #expect(!run.errorText.contains("init"), "\(run.errorText)")
    }

    @Test("A vault without a passcode: lock and unlock say what they do; lock ends what is session-only")
    func noPasscode() throws {
        let run = try run(
            """
            "$0" init --home c --no-passcode --keyring file >out
            "$0" unlock --home c 2>unlocked; echo $?
            printf x | "$0" file add - --name v --volatile --home c >out || exit 95
            printf x | "$0" file add - --name o --home c >out || exit 96
            "$0" lock --home c 2>locked; echo $?
            grep -c 'no passcode, so it needs no unlock' unlocked
            grep -c 'session-only files have ended.*no passcode.*opens the vault again' locked
            "$0" file cat v --home c >out 2>err; echo $?
            "$0" file cat o --home c >out; echo $?
            "$0" unlock --home a --passcode-fd 3 3<p; "$0" lock --home a; echo $?
            """)
        #expect(run.code == 0 && run.text == "0\n0\n1\n1\n3\n0\n0\n", "\(run.text)")
        #expect(!run.errorText.contains("no passcode"), "\(run.errorText)")
    }

    @Test("Nothing says where the home is: every vault of the user is locked")
    func nowhere() throws {
        let run = try run(
            """
            unset HOME XDG_DATA_HOME COFFER_HOME
            "$0" lock; echo $?
            keys a . ; keys b .
            """)
        #expect(run.code == 0 && run.text == "0\n0\n0\n", "\(run.text) \(run.errorText)")
        #expect(run.errorText.contains("Every vault of this user is locked"))
    }

    @Test("--all locks every vault, also those whose home is gone; keys that outlast a lock stay")
    func all() throws {
        let run = try run(
            """
            rm -r a
            staying="$(cat a.id):afterFirstUnlock\\|$(cat b.id):afterFirstUnlock"
            env -i "$0" lock --all --json; echo $?
            keys a . ; keys b .
            grep -c "$staying" /proc/keys
            env -i "$0" lock --all --json
            "$0" unlock --home b </dev/null
            """)
        #expect(
            run.text.hasPrefix(
                "{\"state\":\"locked\",\"vaultID\":null,\"removedKeys\":8,\"failures\":[]}\n0\n0\n0\n4\n"),
            "\(run.text) \(run.errorText)")
        #expect(run.text.contains("\"removedKeys\":0"))
        #expect(run.code == 4)
    }

    @Test("A key that the kernel keeps is named and fails the command; a key that is gone does not")
    func kept() throws {
        let library = try #require(PreloadedLibrary.noKeyring)
        let run = try run(
            """
            NOKEYRING=KEEP LD_PRELOAD=\(library) "$0" lock --home a --json; echo $?
            keys a . ; keys b .
            NOKEYRING=KEEP LD_PRELOAD=\(library) "$0" lock --all --json; echo $?
            NOKEYRING=EACCES LD_PRELOAD=\(library) "$0" lock --all --json; echo $?
            """)
        let lines = run.text.split(separator: "\n").map(String.init)
        try #require(lines.count == 8, "\(run.text) \(run.errorText)")
        #expect(lines[0].contains("permissionDenied") && lines[0].contains("whenUnlockedThisDeviceOnly"))
        #expect(lines[1...3] == ["1", "4", "4"])
        #expect(lines[4].contains("permissionDenied") && lines[5] == "1")
        #expect(lines[6].contains("\"failures\":[\"permissionDenied\"]") && lines[7] == "0")
        #expect(run.errorText.contains("could not be removed from the kernel keyring"))
    }

    @Test("unlock asks for the passcode where the held keys have an exact time or are not all there")
    func unlockAgain() throws {
        let run = try run(
            """
            "$0" unlock --home a </dev/null; echo $?
            "$0" unlock --home a --for 500 --passcode-fd 3 3<p; echo $?
            "$0" unlock --home a </dev/null; echo $?
            "$0" unlock --home a --for 501 </dev/null; echo $?
            "$0" unlock --home a --for 200 </dev/null; echo $?
            "$0" unlock --home a --passcode-fd 3 3<p; echo $?
            "$0" unlock --home a --for 365d </dev/null; echo $?
            """)
        #expect(run.code == 0 && run.text == "0\n0\n4\n4\n0\n0\n4\n", "\(run.text) \(run.errorText)")
    }

    @Test("A planted key that may only be unlinked is no failure")
    func planted() throws {
        let run = try run(
            """
            python3 - <<'end' || exit 94
            import ctypes, os
            syscall = ctypes.CDLL(None).syscall
            add, control = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
            name = ("coffer:" + open("a.id").read().strip() + ":planted").encode()
            ring = syscall(add, b"keyring", b"harmless", None, 0, -4)
            syscall(control, 5, ring, 0x3f3f0000)
            key = syscall(add, b"user", name, b"x", 1, ring)
            # To be looked at, and nothing else.
            if key < 0 or syscall(control, 5, key, 0x01010000) != 0: raise SystemExit(1)
            end
            "$0" lock --home a --json; echo $?
            listed "$(cat a.id)" | grep -vc planted
            """)
        let lines = run.text.split(separator: "\n").map(String.init)
        #expect(lines.suffix(2) == ["0", "0"], "\(run.text) \(run.errorText)")
        #expect(lines.first?.contains("\"failures\":[]") == true, "\(run.text) \(run.errorText)")
    }
}
