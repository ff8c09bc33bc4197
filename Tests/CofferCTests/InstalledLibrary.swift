import Foundation
import TestSupport
import Testing

/// A directory with the library as it is installed: `lib` with coffer.pc, and `include`.
struct InstalledLibrary {
    /// The directory, with a slash at its end.
    let prefix: String

    /// Installs the library of this build into a new directory.
    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-c-\(UUID().uuidString)")
        prefix = folder.path(percentEncoded: false) + "/"
        let manager = FileManager.default
        for name in ["lib/pkgconfig", "include"] {
            try manager.createDirectory(atPath: prefix + name, withIntermediateDirectories: true)
        }
        // Without debugging information, which the loader has to map.
        let strip = try CommandRun.run(
            "strip", ["-g", "-o", prefix + "lib/libcoffer.so.0", CommandRun.programs + "libcoffer-c.so"])
        try #require(strip.code == 0, "\(strip.errorText)")
        try manager.createSymbolicLink(
            atPath: prefix + "lib/libcoffer.so", withDestinationPath: "libcoffer.so.0")
        try manager.copyItem(
            atPath: PackageRoot.path + "Sources/CCoffer/coffer.h", toPath: prefix + "include/coffer.h")
        let description = try String(
            contentsOfFile: PackageRoot.path + "Sources/CofferC/coffer.pc", encoding: .utf8)
        try description.replacing("@VERSION@", with: "0")
            .write(toFile: prefix + "lib/pkgconfig/coffer.pc", atomically: false, encoding: .utf8)
    }

    /// The variables by which the loader and pkg-config find the library.
    var environment: [String: String] {
        ["LD_LIBRARY_PATH": prefix + "lib", "PKG_CONFIG_PATH": prefix + "lib/pkgconfig"]
    }

    func remove() { try? FileManager.default.removeItem(atPath: prefix) }
}
