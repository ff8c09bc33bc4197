public import ArgumentParser
public import Coffer

extension TokenKind: ExpressibleByArgument {
    /// The value that the word on the command line names.
    public init?(argument: String) { self.init(name: argument) }
    /// How help shows a default.
    public var defaultValueDescription: String { name }
    /// Every word that is taken.
    public static var allValueStrings: [String] { allCases.map(\.name) }
}

extension ProtectionClass: ExpressibleByArgument {
    /// The value that the word on the command line names.
    public init?(argument: String) { self.init(name: argument) }
    /// How help shows a default.
    public var defaultValueDescription: String { name }
    /// Every word that is taken.
    public static var allValueStrings: [String] { allCases.map(\.name) }
}
