import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

private enum AgeOfDebian {
    static let isInstalled = ["age", "age-keygen"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
    }
}

/// Debian's age, where it is installed: each program reads what the other one wrote.
@Suite("age of Debian", .enabled(if: AgeOfDebian.isInstalled, "needs age (apt-get install age)"))
struct AgePeerTests {
    private static let sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 1_000_000]

    private func age(_ arguments: String..., input: [UInt8] = []) throws -> CommandRun {
        try CommandRun.run("age", arguments, input: input)
    }

    @Test("age decrypts what Coffer encrypts, for the second of three recipients")
    func oursByAge() throws {
        let folder = try ScratchDirectory.make()
        let keys = folder.path(of: "keys")
        #expect(try CommandRun.run("age-keygen", ["-o", keys]).code == 0)
        let text = try folder.read("keys")
        let identities = try AgeIdentity.list(in: text.span)
        let identity = try #require(identities.first)
        let printed = try CommandRun.run("age-keygen", ["-y", keys]).text
        #expect(printed.hasSameBytes(as: identity.recipient.description + "\n"))
        let others = [try AgeIdentity.generate().recipient, try AgeIdentity.generate().recipient]
        for size in Self.sizes {
            let plaintext = AgeFiles.sample(size)
            let file = try AgeFiles.encrypted(plaintext, to: [others[0], identity.recipient, others[1]])
            let run = try age("-d", "-i", keys, input: file)
            #expect(run.code == 0 && run.output == plaintext, "\(size): \(run.errorText)")
        }
        let cut = try AgeFiles.encrypted(AgeFiles.sample(70_000), to: [identity.recipient]).dropLast()
        #expect(try age("-d", "-i", keys, input: Array(cut)).code != 0)
    }

    @Test("Coffer decrypts what age encrypts, in binary form and armored, with an identity of its own")
    func theirsByCoffer() throws {
        let folder = try ScratchDirectory.make()
        let identity = try AgeIdentity.generate()
        let other = try AgeIdentity.generate().recipient.description
        let recipient = identity.recipient.description
        try folder.write("mine", bytes(try identity.text()))
        for size in Self.sizes {
            let plaintext = AgeFiles.sample(size)
            for form in [["-r", other, "-r", recipient], ["-a", "-r", recipient], ["-r", recipient]] {
                let run = try CommandRun.run("age", form, input: plaintext)
                #expect(run.code == 0, "\(run.errorText)")
                let read = AgeFiles.decrypted(run.output, [identity])
                #expect(read.code == nil && read.plaintext == plaintext, "\(size) \(form[0])")
            }
        }
        let sealed = try AgeFiles.encrypted([5], to: [identity.recipient])
        #expect(try age("-d", "-i", folder.path(of: "mine"), input: sealed).output == [5])
    }

    /// age asks for a passphrase on a terminal alone, which Python's pty makes.
    private static let onTerminal = """
        import os, pty, sys, time
        pid, fd = pty.fork()
        if pid == 0:
            os.execvp(sys.argv[1], sys.argv[1:])
        asked = b""
        while True:
            try:
                piece = os.read(fd, 4096)
            except OSError:
                break
            if not piece:
                break
            asked += piece
            if piece.strip().endswith(b":"):
                os.write(fd, b"correct horse battery\\n")
        status = os.waitpid(pid, 0)[1]
        sys.stderr.buffer.write(asked)
        sys.exit(os.waitstatus_to_exitcode(status))
        """

    @Test("A passphrase works in both directions, at the standard work factor", .timeLimit(.minutes(10)))
    func passphrases() throws {
        let folder = try ScratchDirectory.make()
        let plaintext = AgeFiles.sample(100_000)
        let passphrase = "correct horse battery"
        let (ours, theirs, plain) = (
            folder.path(of: "ours"), folder.path(of: "theirs"), folder.path(of: "plain")
        )
        try folder.write("ours", try AgeFiles.encrypted(plaintext, passphrase: passphrase, workFactor: 18))
        let opened = try CommandRun.run("python3", ["-c", Self.onTerminal, "age", "-d", "-o", plain, ours])
        #expect(opened.code == 0, "\(opened.errorText)")
        let read = try folder.read("plain")
        #expect(read == plaintext)
        let sealed = try CommandRun.run("python3", ["-c", Self.onTerminal, "age", "-p", "-o", theirs, plain])
        #expect(sealed.code == 0, "\(sealed.errorText)")
        let back = AgeFiles.decrypted(try folder.read("theirs"), passphrase: passphrase)
        #expect(back.code == nil && back.plaintext == plaintext)
    }
}
