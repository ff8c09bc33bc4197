/// The version of this package: of its libraries and of the command.
package enum PackageVersion {
    /// The release, or the release that is being prepared with `-dev` behind it.
    package static let current = "0.2.0-dev"
}
