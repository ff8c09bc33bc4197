import Coffer
import CofferCommandLine
import CofferEngine
import SystemPackage

/// Tells the user of names that several stored files have, because such a name specifies none of them.
enum SharedNames {
    /// Reports those of `names` that more than one file has now. Errors do not affect the command, which has
    /// already stored the files.
    static func report(_ names: [FilePath.Component], in vault: Vault) async {
        guard !names.isEmpty, let listing = try? await vault.files.listing() else { return }
        let counts = Dictionary(
            listing.files.map { (FileNameBytes.of($0.name), 1) }, uniquingKeysWith: { $0 + $1 })
        var reported: Set<[UInt8]> = []
        for name in names {
            let bytes = FileNameBytes.of(name)
            guard let count = counts[bytes], count > 1, reported.insert(bytes).inserted else { continue }
            Output.message(
                "coffer: \(count) files are now named \(name.string.printable). Specify each of them by "
                    + "its id.")
        }
    }
}
