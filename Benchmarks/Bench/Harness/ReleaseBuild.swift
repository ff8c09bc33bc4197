import BenchPeers
import CofferBase
import SystemPackage

/// Replaces a debug build, whose figures are meaningless, with the release build of the same sources.
enum ReleaseBuild {
    /// Builds bench and the commands for release and executes bench with the same arguments. Returns only on
    /// failure, with the reason.
    static func takeOver() -> CofferError {
        OwnProcess.note(
            "this is a debug build, whose figures are meaningless: building and running the release build")
        do throws(CofferError) {
            let scratch = try scratchPath()
            let root = FilePath(#filePath).removingLastComponent().removingLastComponent()
                .removingLastComponent().removingLastComponent()
            // Some benchmarks run the commands.
            for product in ["coffer", "coffer-oauth", "coffer-pkcs11", "bench"] {
                let built = OwnProcess.runShown(
                    [
                        "swift", "build", "-c", "release", "--product", product, "--package-path",
                        root.string, "--scratch-path", scratch.string,
                    ] + traits)
                guard built else { return CofferError(.internalFailure, "The release build failed.") }
            }
            let program = scratch.appending("release").appending("bench")
            return OwnProcess.become(program.string, Array(CommandLine.arguments.dropFirst()))
        } catch {
            return error
        }
    }

    /// The directory of the build that this executable belongs to: three above, for `TRIPLE/debug/bench`.
    private static func scratchPath() throws(CofferError) -> FilePath {
        FilePath(try OwnProcess.executable()).removingLastComponent().removingLastComponent()
            .removingLastComponent()
    }

    private static var traits: [String] {
        #if SecretService && OAuth
            []
        #elseif SecretService
            ["--traits", "SecretService"]
        #elseif OAuth
            ["--traits", "OAuth"]
        #else
            ["--disable-default-traits"]
        #endif
    }
}
