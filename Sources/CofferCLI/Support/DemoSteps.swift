import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import SystemPackage

/// A step of the demo: its title, its evidence, and the time that it took.
struct DemoStep {
    let title: String
    let proof: String
    let held: Bool
    let duration: Duration

    private var milliseconds: Double {
        let parts = duration.components
        return Double(parts.seconds) * 1e3 + Double(parts.attoseconds) / 1e15
    }

    var line: String {
        let mark = held ? "ok  " : "FAIL"
        return "\(mark)  \(title) (\(Int(milliseconds.rounded(.up))) ms)\n      \(proof)"
    }

    var document: JSONDocument {
        .object([
            ("title", .text(title)), ("proof", .text(proof)), ("held", .flag(held)),
            ("milliseconds", .decimal(milliseconds)),
        ])
    }
}

/// The steps of the demo. Each step throws an error if its check fails, and the first failure ends the demo.
struct Demo {
    private let demoDirectory: DemoDirectory
    private let file: FilePath
    private let name: FilePath.Component
    private let home: VaultLocation
    private let token: [UInt8]
    private let search: MemoryScanner
    private let searchNote: String

    /// A failed check, described in words.
    private struct FailedCheck: Error { let message: String }

    init(directory: DemoDirectory, file: FilePath) throws(CofferError) {
        demoDirectory = directory
        self.file = file
        guard let name = file.lastComponent else {
            throw CofferError(.invalidInput, "The path \(file) does not contain a file name.")
        }
        self.name = name
        home = VaultLocation(path: directory.path.appending("home"))
        let random = try SecureRandom.bytes(24)
        let digits = try Encoding.hex(random.span)
        let value = digits.span.copied()
        token = value
        var search = MemoryScanner()
        search.add("the token", value.span)
        let nameBytes = FileNameBytes.of(name)
        search.add("the file name", nameBytes.span, isWhole: true)
        let sample = try Self.sample(of: file)
        search.add("the file's content", sample.span, isWhole: true)
        self.search = search
        searchNote = sample.count < 16 ? " (the file is too short to search for its content)" : ""
    }

    func run() async -> [DemoStep] {
        var steps: [DemoStep] = []
        let begin = Clock.sinceBoot
        do {
            try await perform { title, start, proof in
                steps.append(
                    DemoStep(title: title, proof: proof, held: true, duration: Clock.sinceBoot - start))
            }
        } catch {
            let message = (error as? FailedCheck)?.message ?? (error as? CofferError)?.advice ?? "\(error)"
            steps.append(
                DemoStep(title: "stopped", proof: message, held: false, duration: Clock.sinceBoot - begin))
        }
        return steps
    }

    private typealias Report = (_ title: String, _ start: Duration, _ proof: String) -> Void

    private func perform(_ report: Report) async throws {
        var start = Clock.sinceBoot
        func done(_ title: String, _ proof: String) {
            report(title, start, proof)
            start = Clock.sinceBoot
        }
        done("search before", try searchBefore())

        let passcode = try Passcode(copying: "2468")
        let vault = try await Vault.create(at: home, passcode: passcode)
        done("init", "vault \(vault.vaultID): its keys are random, wrapped under Argon2id of the passcode")

        try await demonstrateToken(vault)
        done("token stored and read", "\(token.count) bytes read back unchanged; version 1, then 2")

        done("documented key", try documentedKey(vault.vaultID))

        let id = try await vault.files.add(contentsOf: file)
        let length = try await compare(vault, id)
        done(
            "file double-encrypted",
            "\(length) bytes sealed under two unrelated keys and opened again, all equal")

        let path = try await view(vault, id)
        done("file viewed", "a copy named \(name) was readable while viewed and is gone after: \(path)")

        vault.lock()
        try await expect(.locked) { _ = try await vault.tokens.list() }
        try expectNoPlaintext(below: home.path)
        done("lock", "reading is refused; the vault has no trace of token, name or content" + searchNote)

        let wrong = try Passcode(copying: "1357")
        try await expect(.wrongPasscode) { try await vault.unlock(with: wrong) }
        done("wrong passcode", "refused, and counted on disk before it was tried")

        let receipt = try await vault.wipe(reason: "demo")
        try await expect(.wiped) { _ = try await Vault(at: home) }
        let time = receipt.keysDestroyedAfterMilliseconds.map { "within \(Int($0.rounded(.up))) ms" }
        done("wipe", "keys destroyed \(time ?? "in part"); needs activation")

        try expectNoPlaintext(below: home.path)
        try expectNoPlaintext(below: "/dev/shm")
        if let runtime = Environment.value("XDG_RUNTIME_DIR") {
            try expectNoPlaintext(below: FilePath(runtime))
        }
        done("search after", "nothing in the vault directory, the runtime directory or /dev/shm" + searchNote)
    }

    /// Checks that the search finds unencrypted data. Without this check, a later search that finds nothing
    /// would prove nothing.
    private func searchBefore() throws -> String {
        let plain = demoDirectory.path.appending("plain")
        try Descriptor.open(demoDirectory.path, [.read, .directory]).makeDirectory("plain")
        let directory = try Descriptor.open(plain, [.read, .directory])
        let content = token + [UInt8(ascii: "\n")] + (try Self.sample(of: file))
        try directory.replace(FilePath(root: nil, [name]), with: content.span)
        let matches = try search.matches(below: plain)
        try directory.removeTree(FilePath(root: nil, [name]))
        guard matches.contains(where: { $0.utf8.hasPrefix("the token in /") }) else {
            throw FailedCheck(message: "The search did not find an unencrypted token.")
        }
        return "the search finds \(matches.count) traces of unencrypted token, name and content" + searchNote
    }

    private func demonstrateToken(_ vault: Vault) async throws {
        let id = try TokenID(service: "api.example.org", account: "ada", kind: .refresh)
        let first = try await vault.tokens.put(Token(copying: token), for: id)
        let second = try await vault.tokens.put(Token(copying: token), for: id, precondition: .version(1))
        guard first == .stored(version: 1), second == .stored(version: 2) else {
            throw FailedCheck(message: "The versions are \(first) and \(second).")
        }
        try await expect(.conflict) {
            try await vault.tokens.put(Token(copying: "stale"), for: id, precondition: .version(1))
        }
        let same = try await vault.tokens.withToken(for: id) { (stored, _) throws(CofferError) in
            stored.exposing { ConstantTime.equal($0, token.span) }
        }
        guard same == true else { throw FailedCheck(message: "The token read back differs.") }
    }

    private func documentedKey(_ vaultID: VaultID) throws -> String {
        let passcode = try SecretBytes.copying("2468")
        let key = try Insecure.DocumentedKey.key(uuid: vaultID.description, passcode: passcode)
        let message = Array("documented".utf8)
        let sealed = try Insecure.DocumentedCBC.encrypt(message.span, key: key)
        let opened = try Insecure.DocumentedCBC.decrypt(sealed.span, key: key)
        guard opened.exposing({ ConstantTime.equal($0, message.span) }) else {
            throw FailedCheck(message: "The documented scheme cannot decrypt its own ciphertext.")
        }
        return "SHA-256 of UUID and Base64(SHA-256(passcode)), then AES-256-CBC both ways"
    }

    private func compare(_ vault: Vault, _ id: FileID) async throws -> Int64 {
        let original = try Descriptor.open(file, .read)
        let check = StreamComparator(original: original)
        try await vault.files.readChunks(of: id) { (bytes) throws(CofferError) in try check.add(bytes) }
        guard try check.isComplete else { throw FailedCheck(message: "The file read back differs.") }
        return check.length
    }

    private func view(_ vault: Vault, _ id: FileID) async throws -> FilePath {
        let size = try Descriptor.open(file, .read).status().size
        let path = try await vault.files.withViewCopy(of: id) { path in
            guard try Descriptor.open(path, .read).status().size == size, path.lastComponent == name else {
                throw FailedCheck(message: "The view copy differs from the file.")
            }
            return path
        }
        guard (try? Descriptor.open(path, .read)) == nil else {
            throw FailedCheck(message: "The view copy is still there.")
        }
        return path
    }

    private func expect(_ code: CofferError.Code, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as CofferError {
            guard error.code == code else { throw error }
            return
        }
        throw FailedCheck(message: "A call that had to fail with '\(code.name)' did not.")
    }

    private func expectNoPlaintext(below root: FilePath) throws {
        let matches = try search.matches(below: root)
        guard matches.isEmpty else { throw FailedCheck(message: "Found: " + matches.joined(separator: "; ")) }
    }

    /// Returns the 48-byte piece with the most varied bytes near the start of the file, because a run of
    /// zeros, for example, would be found everywhere. Returns an empty array if every piece is too uniform or
    /// the file is too short.
    private static func sample(of file: FilePath) throws(CofferError) -> [UInt8] {
        let source = try Descriptor.open(file, [.read, .nonBlocking])
        guard try source.status().kind == .regular else {
            throw CofferError(.refused, "\(file) must be a regular file.")
        }
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        var span = chunk.mutableSpan
        let count = try source.read(at: 0, into: &span)
        let size = 48
        guard count > size else { return [] }
        let starts = stride(from: 0, through: count - size, by: size)
        let best = starts.max { Set(chunk[$0..<$0 + size]).count < Set(chunk[$1..<$1 + size]).count } ?? 0
        let sample = Array(chunk[best..<best + size])
        return Set(sample).count >= 8 ? sample : []
    }
}
