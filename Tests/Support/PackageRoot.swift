import Foundation

/// Where this package's files are.
package enum PackageRoot {
    /// The folder with `Package.swift`.
    package static let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path(percentEncoded: false)

    /// Wycheproof's files, for hosts that have them: named by COFFER_WYCHEPROOF or in the agreed place.
    package static var wycheproof: String? {
        let agreed = path + "../shared/vectors/wycheproof"
        let folder = ProcessInfo.processInfo.environment["COFFER_WYCHEPROOF"] ?? agreed
        return FileManager.default.fileExists(atPath: folder) ? folder : nil
    }

    /// The test kit of the age specification, for hosts that have it: named by COFFER_AGE_TESTKIT or in the
    /// agreed place.
    package static var ageTestKit: String? {
        let agreed = path + "../shared/vectors/age-testkit"
        let folder = ProcessInfo.processInfo.environment["COFFER_AGE_TESTKIT"] ?? agreed
        return FileManager.default.fileExists(atPath: folder) ? folder : nil
    }
}
