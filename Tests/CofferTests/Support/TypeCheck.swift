import Foundation
import SystemPackage
import TestSupport

/// Has the compiler check a file against the modules of this build.
enum TypeCheck {
    /// Where the build puts modules, and where those of C are.
    private static let search: [String] = {
        let runner = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let scratch = runner.deletingLastPathComponent().deletingLastPathComponent()
        let sources = URL(filePath: PackageRoot.path + "Sources")
        var folders = [
            runner.appending(path: "Modules"),
            scratch.appending(path: "checkouts/swift-system/Sources/CSystem/include"),
        ]
        folders += ["CArguments", "CGIO", "CLinux", "COpenSSL", "CSHA2", "CSodium"].map {
            sources.appending(path: $0)
        }
        return folders.flatMap { ["-I", $0.path(percentEncoded: false)] }
    }()

    /// Checks `text`, which may import a module of this name made of `module`.
    static func run(_ text: String, beside module: (name: String, text: String)? = nil) throws -> CommandRun {
        let scratch = try ScratchDirectory.make()
        try scratch.write("snippet.swift", Array(text.utf8))
        if let module {
            try scratch.write("module.swift", Array(module.text.utf8))
            let made = try CommandRun.run(
                "swiftc",
                [
                    "-emit-module", "-module-name", module.name, "-emit-module-path",
                    scratch.path(of: module.name + ".swiftmodule"), scratch.path(of: "module.swift"),
                ], seconds: 120)
            guard made.code == 0 else { return made }
        }
        return try CommandRun.run(
            "swiftc",
            ["-typecheck", "-swift-version", "6", "-I", scratch.path(of: "")] + search
                + [scratch.path(of: "snippet.swift")], seconds: 120)
    }
}
