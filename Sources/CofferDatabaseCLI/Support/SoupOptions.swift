import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDatabase
import CofferEngine

/// The options that select a soup store, for every command that uses one.
struct SoupOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The name of the store in the vault.", valueName: "name"),
        completion: DatabaseNames.store)
    var store = "default"

    @Flag(name: .customLong("global"), help: "Use a store for all users, not one for the logged-in user.")
    var isGlobal = false

    /// The owner of the store: either the logged-in user or all users.
    var scope: SoupStoreName.Scope { isGlobal ? .global : .user }

    /// The maximum length of JSON input, in bytes.
    private static let maxByteCount = 16 << 20

    /// Opens the store, passes the store to `body`, and then closes it.
    ///
    /// - Parameters:
    ///   - global: The options that specify the vault.
    ///   - isCreating: Whether to create the store if it does not exist.
    ///   - protection: The protection class for a new store; `nil` for the vault's default.
    ///   - body: The operation on the store.
    /// - Returns: The result of `body`.
    /// - Throws: `absent` if the store must exist but does not; `locked` and other errors from opening the
    ///   store; any error that `body` throws.
    func withStore<Value>(
        _ global: GlobalOptions, creating isCreating: Bool = false, class protection: ProtectionClass? = nil,
        _ body: (SoupStore) async throws(CofferError) -> Value
    ) async throws(CofferError) -> Value {
        let name = try SoupStoreName(store, scope).name
        return try await VaultOpener.withPasscode(global) { (vault) async throws(CofferError) -> Value in
            let stores = SoupStores(vault, class: protection)
            if !isCreating {
                guard try await stores.names(scope).contains(where: { $0.hasSameBytes(as: name) }) else {
                    throw CofferError(
                        .absent,
                        "The vault has no soup store \(name). To list the stores, run coffer soup "
                            + "list --stores.")
                }
            }
            let result: Result<Value, CofferError>
            do throws(CofferError) {
                result = .success(try await body(try await stores.store(name, scope)))
            } catch {
                result = .failure(error)
            }
            await stores.close()
            return try result.get()
        }
    }

    /// Reads JSON text from a file or, if the name is "-", from standard input.
    static func input(_ name: String = "-") throws(CofferError) -> [UInt8] {
        let source: Descriptor =
            name.hasSameBytes(as: "-") ? try .standardInput() : try .open(ProgramArguments.path(name), .read)
        let bytes = try SecretInput.all(from: source, limit: maxByteCount)
        return bytes.span.copied()
    }

    /// Parses documents from one JSON object, a list of objects, or one object per line.
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

    /// Prints the values, either one per line or, if `asJSON` is `true`, as one list.
    static func show(_ values: [JSONValue], asJSON: Bool) throws(CofferError) {
        guard !asJSON else { return try Output.json(.value(.array(values))) }
        for value in values { try Output.json(.value(value)) }
    }
}
