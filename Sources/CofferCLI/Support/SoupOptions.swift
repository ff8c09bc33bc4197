import ArgumentParser
import Coffer
import CofferBase
import CofferDatabase
import CofferEngine

/// The options that choose a store of soups, for every command that uses one.
struct SoupOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The store in the vault.", valueName: "name"))
    var store = "default"

    @Flag(name: .customLong("global"), help: "A store of all users, not of the logged-in one.")
    var isGlobal = false

    /// The owner of the store.
    var scope: SoupStoreName.Scope { isGlobal ? .global : .user }

    /// The longest JSON input, in bytes.
    private static let maxByteCount = 16 << 20

    /// Opens the store, passes it to `body` and closes it.
    ///
    /// - Parameters:
    ///   - global: The vault.
    ///   - protection: The class of a new store; `nil` if one must exist already.
    ///   - body: Uses the store.
    /// - Throws: `absent` if there must be a store and is none; `locked` and other errors of opening; what
    ///   `body` throws.
    func withStore(
        _ global: GlobalOptions, creating protection: ProtectionClass? = nil,
        _ body: (SoupStore) async throws(CofferError) -> Void
    ) async throws(CofferError) {
        let name = try SoupStoreName(store, scope).name
        try await VaultOpener.withPasscode(global) { (vault) async throws(CofferError) -> Void in
            let stores = SoupStores(vault, class: protection ?? .whenUnlockedThisDeviceOnly)
            if protection == nil {
                guard try await stores.names(scope).contains(where: { $0.hasSameBytes(as: name) }) else {
                    throw CofferError(.absent, "The vault has no store \(name) of soups.")
                }
            }
            var failure: CofferError?
            do throws(CofferError) {
                try await body(try await stores.store(name, scope))
            } catch {
                failure = error
            }
            await stores.close()
            if let failure { throw failure }
        }
    }

    /// Reads JSON from a file, or from standard input for "-".
    static func input(_ name: String = "-") throws(CofferError) -> [UInt8] {
        let source: Descriptor =
            name.hasSameBytes(as: "-") ? try .standardInput() : try .open(ProgramArguments.path(name), .read)
        let bytes = try SecretInput.all(from: source, limit: maxByteCount)
        return bytes.span.copied()
    }

    /// Reads documents: one JSON object, a list of them, or one on each line.
    static func documents(_ bytes: [UInt8]) throws(CofferError) -> [JSONValue] {
        do throws(CofferError) {
            let value = try JSONValue(parsing: bytes)
            return value.array ?? [value]
        } catch {
            let lines = bytes.split(separator: UInt8(ascii: "\n"))
            guard lines.count > 1, let first = try? JSONValue(parsing: Array(lines[0])) else { throw error }
            var documents = [first]
            for line in lines.dropFirst() where line.contains(where: { $0 > 0x20 }) {
                documents.append(try JSONValue(parsing: Array(line)))
            }
            return documents
        }
    }

    /// Prints values: one on each line or, as JSON, one list.
    static func show(_ values: [JSONValue], asJSON: Bool) throws(CofferError) {
        guard !asJSON else { return try Output.line(try JSONValue.array(values).jsonText()) }
        for value in values { try Output.line(try value.jsonText()) }
    }
}
