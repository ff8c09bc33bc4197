/// The place from which a value of a policy comes.
public struct PolicyOrigin: Sendable, Hashable {
    /// The path of the file, or the name of the vault's signed policy.
    public let file: String
    /// The line of the key, counted from 1.
    public let line: Int

    /// The file and the line, as `/etc/coffer/policy.d/10-base.plist:7`.
    public var description: String { "\(file):\(line)" }
}

extension PolicyOrigin: CustomStringConvertible {}
