package import ArgumentParser

/// The options of `coffer rotate` that select what is replaced.
package struct RotationOptions: ParsableArguments {
    @Option(
        name: .customLong("class"), parsing: .singleValue,
        help: "A class whose key to replace; may be repeated.")
    package var protection: [ProtectionClassArgument] = []

    @Flag(help: "Replace the keys of all classes, and the databases' own keys.")
    package var all = false

    @Flag(help: "Replace only the databases' own keys.")
    package var databases = false

    @Flag(help: "Only go on with a rotation that was interrupted.")
    package var resume = false

    package init() {}

    package mutating func validate() throws {
        let chosen = [!protection.isEmpty, all, databases, resume]
        guard chosen.count(where: { $0 }) <= 1 else {
            throw ValidationError("Specify only one of --class, --all, --databases and --resume.")
        }
    }
}
