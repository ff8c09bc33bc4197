package import CofferEngine
import Foundation
package import SystemPackage

/// A new directory for one test, removed with everything in it when its owner goes.
package struct ScratchDirectory: ~Copyable {
    /// Where it is.
    package let path: FilePath
    /// The open directory.
    package let descriptor: Descriptor

    private init(path: FilePath, descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    package static func make() throws -> ScratchDirectory {
        let url = FileManager.default.temporaryDirectory.appending(path: "coffer-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        let path = FilePath(url.path(percentEncoded: false))
        return ScratchDirectory(path: path, descriptor: try Descriptor.open(path, [.read, .directory]))
    }

    deinit { try? FileManager.default.removeItem(atPath: path.string) }

    /// The path of `name` in it.
    package func path(of name: String) -> String { path.appending(name).string }

    /// Writes a file.
    package func write(_ name: FilePath, _ bytes: [UInt8]) throws {
        let file = try descriptor.open(name, [.readWrite, .create])
        try file.truncate(to: 0)
        try file.write(bytes.span, at: 0)
    }

    /// The bytes of a file.
    package func read(_ name: FilePath) throws -> [UInt8] {
        try descriptor.open(name, .read).readAll(limit: 1 << 24)
    }

    /// The names in it, in order.
    package func names() throws -> [String] { try descriptor.names().map(\.string).sorted() }

    /// Makes a symbolic link.
    package func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: path(of: name), withDestinationPath: target)
    }
}
