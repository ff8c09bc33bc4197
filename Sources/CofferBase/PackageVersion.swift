/// The version of this package, which its libraries and its command share.
package enum PackageVersion {
    /// The release number, followed by `-dev` while that release is being prepared.
    package static let current = "0.1.0-dev"
}
