package import CofferBase
import CofferEngine
import SystemPackage

/// The user's default Secret Service collection and, as far as another program can determine it, the form in
/// which the service stores the collection.
///
/// The Secret Service does not report whether a collection has a password. However, gnome-keyring stores a
/// collection without a password as plain text, so the collection's file reveals whether there is a password.
package struct SecretCollection {
    package enum Storage { case encrypted, plainText, unknown }

    package let path: String
    package let isLocked: Bool
    package let storage: Storage

    /// Inspects the default collection, to which new items are added.
    package static func inspect(
        _ client: SecretServiceClient, _ deadline: Deadline
    ) throws(CofferError) -> SecretCollection {
        let path = try client.defaultCollection(deadline)
        return SecretCollection(
            path: path, isLocked: try client.isLocked(path, deadline),
            storage: storage(of: path, process: try? client.serviceProcess(deadline)))
    }

    private static func storage(of path: String, process: UInt32?) -> Storage {
        guard let name = path.parts(between: "/").last.flatMap({ fileName($0[...]) }) else { return .unknown }
        for directory in directories(process) {
            guard let folder = try? Descriptor.open(directory, [.read, .directory]),
                let file = try? folder.open(name, .read)
            else { continue }
            var head = [UInt8](repeating: 0, count: 12)
            var span = head.mutableSpan
            let count = (try? file.read(at: 0, into: &span)) ?? 0
            if head[..<count] == Array("GnomeKeyring".utf8)[...] { return .encrypted }
            if head.starts(with: "[keyring]".utf8) { return .plainText }
        }
        return .unknown
    }

    /// Returns the name of a collection's file. In a path, `_` and two hexadecimal digits encode one byte.
    private static func fileName(_ component: Substring) -> FilePath? {
        var bytes: [UInt8] = []
        var rest = component.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "_") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(Substring(rest.prefix(2))), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        let name = String(decoding: bytes, as: UTF8.self) + ".keyring"
        return FilePath.Component(name).map { FilePath(root: nil, [$0]) }
    }

    /// Returns the directories in which the service may store its files, according to the service's
    /// environment, or to this process's environment if the service's is unreadable.
    private static func directories(_ process: UInt32?) -> [FilePath] {
        let environment = process.flatMap(Self.environment(of:))
        func value(_ name: String) -> String? { environment.map { $0[name] } ?? Environment.value(name) }
        var directories: [FilePath] = []
        if let data = value("XDG_DATA_HOME") { directories.append(FilePath(data).appending("keyrings")) }
        if let home = value("HOME") {
            directories.append(FilePath(home).appending(".local/share/keyrings"))
            directories.append(FilePath(home).appending(".gnome2/keyrings"))
        }
        return directories.filter(\.isAbsolute)
    }

    /// Returns the environment with which a process was started; `nil` if it cannot be read.
    private static func environment(of process: UInt32) -> [String: String]? {
        guard let file = try? Descriptor.open(FilePath("/proc/\(process)/environ"), .read) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        var span = bytes.mutableSpan
        guard let count = try? file.read(at: 0, into: &span), count > 0 else { return nil }
        bytes.removeLast(bytes.count - count)
        var found: [String: String] = [:]
        for entry in bytes.split(separator: 0) {
            let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2 else { continue }
            found[String(decoding: parts[0], as: UTF8.self)] = String(decoding: parts[1], as: UTF8.self)
        }
        return found
    }
}
