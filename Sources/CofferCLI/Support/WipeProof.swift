import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// A proof that a wipe leaves no secrets behind. Before the wipe, canaries are placed in the vault, and a
/// search verifies that it can find them. After the wipe, the same search must find none of them.
struct WipeProof {
    /// The patterns to search for on disks and in keyrings.
    private var search = MemoryScanner()
    /// The patterns to search for in memory, where names and sealed bytes may remain.
    private var memory = MemoryScanner()
    private let home: FilePath
    private let vaultID: VaultID
    /// The locations that were searched before the wipe, and the number of matches in each of them.
    private(set) var control: [(location: String, matches: Int)] = []

    init(of vaultID: VaultID, at location: VaultLocation) {
        home = location.path
        self.vaultID = vaultID
    }

    // MARK: Before

    /// Adds a secret that was passed to the command to the secrets to search for.
    mutating func add(_ name: String, _ secret: borrowing SecretBytes) {
        secret.exposing { bytes in
            search.add(name, bytes, isWhole: true)
            memory.add(name, bytes, isWhole: true)
        }
    }

    /// Stores a token and a file with random names and contents in an unlocked vault, views the file once,
    /// and caches the class keys in the kernel keyring.
    mutating func plantCanaries(in vault: Vault) async throws(CofferError) {
        let value = try SecretBytes.random(count: 48)
        value.exposing { bytes in
            search.add("the value of a token", bytes)
            memory.add("the value of a token", bytes)
        }
        let account = try HexText.encode(SecureRandom.bytes(24))
        search.add("the account of a token", Array(account.utf8).span)
        let id = try TokenID(service: "canary.example", account: account)
        try await vault.tokens.put(Token(value), for: id)
        try await plantFile(in: vault)
        do throws(CofferError) {
            try await vault.cacheKeysInKernel(for: .seconds(600))
        } catch {
            guard [.unsupported, .permissionDenied, .noSpace].contains(error.code) else { throw error }
        }
        for name in KernelKeyCache.names(of: vaultID) {
            let held = try KernelKeyring.read(name)
            switch held {
            case .some(let held):
                let key = held.span.extracting(..<32)
                search.add("a class key", key)
                memory.add("a class key", key)
            case .none: continue
            }
        }
    }

    private mutating func plantFile(in vault: Vault) async throws(CofferError) {
        let name = try HexText.encode(SecureRandom.bytes(20))
        let content = try GuardedBytes.random(count: 4096)
        search.add("the name of a file", Array(name.utf8).span)
        let canary = content.span.extracting(1000..<1048)
        search.add("the content of a file", canary)
        memory.add("the content of a file", canary)
        let shared = try Descriptor.open("/dev/shm", [.read, .directory])
        let folder = try Descriptor.temporaryName()
        try shared.makeDirectory(folder)
        defer { try? shared.removeTree(folder, overwriting: true) }
        let directory = try shared.open(folder, [.read, .directory])
        let file = try directory.open(FilePath(name), [.readWrite, .exclusive])
        try file.write(content.span, at: 0)
        let id = try await vault.files.add(contentsOf: directory.path.appending(name))
        try directory.removeTree(FilePath(name), overwriting: true)
        // The search must find a view copy in the place where view copies are kept.
        let search = search
        var matches = 0
        do {
            matches = try await vault.files.withViewCopy(of: id) { _ in
                try Self.memoryDirectories.reduce(0) { try $0 + search.matches(below: $1).count }
            }
        } catch {
            throw error as? CofferError
                ?? CofferError(.internalFailure, "The view copy could not be searched.")
        }
        control.append(("directories in memory", matches))
    }

    /// Adds the contents of the key files to the patterns, and records the number of matches in each
    /// location.
    mutating func scanBeforeWipe() throws(CofferError) {
        let vault = try Descriptor.open(home.appending("vault"), [.read, .directory])
        for (name, range) in Self.keyRanges {
            guard try vault.status(of: name)?.kind == .regular else { continue }
            var record = try GuardedBytes.zeroed(count: range.upperBound)
            var span = record.mutableSpan
            let count = try vault.open(name, .read).read(at: 0, into: &span)
            guard count > range.lowerBound else { continue }
            let bytes = record.span.extracting(range.lowerBound..<count)
            search.add("keys of the file \(name)", bytes)
            // The device key itself, which is not wrapped.
            if name == "device" { memory.add("the device key", bytes.extracting(..<32)) }
        }
        control.append(("the vault directory", try search.matches(below: home).count))
        control.append(("the kernel keyring", try kernelMatches().count))
        control.append(("the memory of this process", try memory.matchesInMemory().count))
    }

    /// The ranges within the key files that contain keys, wrapped or unwrapped, or sealed tokens.
    private static let keyRanges: [(FilePath, Range<Int>)] = [
        ("device", 32..<64), ("keybag", 114..<600), ("filekeys", 114..<600), ("tokens", 32..<4096),
        ("attempts", 480..<512),
    ]

    /// Throws an error if the search found nothing in a place that must contain secrets. Without this check,
    /// a later search that finds nothing would prove nothing.
    func requirePositiveControl() throws(CofferError) {
        func looksFor(_ name: String) -> Bool { names.contains(name) }
        let isPlanted = looksFor("the value of a token")
        for (location, matches) in control where matches == 0 {
            if location == "the kernel keyring", !isPlanted || !looksFor("a class key") { continue }
            if location == "the memory of this process", !isPlanted || !looksFor("a class key") {
                continue
            }
            throw CofferError(
                .internalFailure, "Nothing was wiped, because the search found no secrets in \(location).")
        }
    }

    // MARK: After

    /// Returns the matches that the search finds after the wipe. A pattern that was not found before the wipe
    /// proves nothing.
    func scanAfterWipe() throws(CofferError) -> [String] {
        var matches = try search.matches(below: home)
        for directory in Self.memoryDirectories + Self.keyringDirectories {
            matches += try search.matches(below: directory)
        }
        matches += try kernelMatches()
        matches += try memory.matchesInMemory()
        for name in KernelKeyCache.names(of: vaultID) where (try? KernelKeyring.contains(name)) == true {
            matches.append("the key \(name) in the kernel keyring")
        }
        return matches
    }

    /// The names of the secrets to search for.
    var names: [String] { search.names }

    /// The locations that are searched.
    var locations: [String] {
        let directories = [home] + Self.memoryDirectories + Self.keyringDirectories
        return directories.map(\.string) + ["the kernel keyring", "the memory of this process"]
    }

    private func kernelMatches() throws(CofferError) -> [String] {
        var matches: [String] = []
        do throws(CofferError) {
            try KernelSubkeyring.forEachSecretOfUser { name, bytes in
                matches += search.matches(in: bytes, of: "the key \(name) of the kernel keyring")
            }
        } catch {
            guard error.code == .unsupported || error.code == .permissionDenied else { throw error }
        }
        return matches
    }

    private static var memoryDirectories: [FilePath] {
        let runtime = Environment.path("XDG_RUNTIME_DIR")
        return ["/dev/shm"] + (runtime.map { $0.isAbsolute ? [$0] : [] } ?? [])
    }

    /// The directories in which desktop keyrings such as gnome-keyring store their files, or an empty array
    /// if they are unknown.
    private static var keyringDirectories: [FilePath] {
        if let data = Environment.path("XDG_DATA_HOME"), data.isAbsolute {
            return [data.appending("keyrings")]
        }
        guard let user = Environment.path("HOME"), user.isAbsolute else { return [] }
        return [user.appending(".local/share/keyrings")]
    }
}
