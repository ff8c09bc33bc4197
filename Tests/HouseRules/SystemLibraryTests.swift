import Foundation
import Testing
import TestSupport

/// The module maps of the C libraries, as the packages that depend on this one see them.
@Suite("System libraries")
struct SystemLibraryTests {
    /// The flags for GLib's headers, on machines that have them.
    private static let flags: [String]? = {
        let modules = ["gobject-2.0", "gio-unix-2.0"]
        guard let run = try? CommandRun.run("pkg-config", ["--cflags"] + modules), run.code == 0 else {
            return nil
        }
        return run.text.split(whereSeparator: \.isWhitespace).map(String.init)
    }()

    /// The values of CGIO's constants.
    private static let values = """
        _Static_assert(G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT == 1, "");
        _Static_assert(G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION == 8, "");
        _Static_assert(G_DBUS_CALL_FLAGS_NONE == 0 && G_DBUS_CALL_FLAGS_NO_AUTO_START == 1, "");
        _Static_assert(G_DBUS_SIGNAL_FLAGS_NONE == 0, "");
        _Static_assert(G_IO_ERROR_CLOSED == 18 && G_IO_ERROR_CANCELLED == 19, "");
        _Static_assert(G_IO_ERROR_TIMED_OUT == 24, "");
        _Static_assert(sizeof(gsize) == sizeof(void *) && sizeof(gboolean) == 4, "");
        _Static_assert(sizeof(GError) == 2 * sizeof(void *), "");

        """

    /// Has the compiler check CGIO's header between two texts.
    private func check(before: String, after: String, _ flags: [String]) throws -> CommandRun {
        let scratch = try ScratchDirectory.make()
        let header = Repository.root.appending(path: "Sources/CGIO/shim.h").path(percentEncoded: false)
        let text = before + "#include \"\(header)\"\n" + Self.values + after
        let file = scratch.path(of: "check.c")
        try Data(text.utf8).write(to: URL(filePath: file))
        return try CommandRun.run("clang", ["-fsyntax-only", "-Wall", "-Werror"] + flags + [file])
    }

    @Test("The declarations of CGIO need no header of GLib's")
    func alone() throws {
        let run = try check(before: "", after: "", [])
        #expect(run.code == 0, "\(run.errorText)")
    }

    @Test(
        "The declarations of CGIO are those of GLib's headers",
        .enabled(if: flags != nil, "GLib's headers are not installed"))
    func sameAsGLib() throws {
        let headers = """
            #include <gio/gio.h>
            #include <gio/gunixfdlist.h>
            #define COFFER_GLIB_HEADERS

            """
        let flags = try #require(Self.flags)
        let run = try check(before: headers, after: "", flags)
        #expect(run.code == 0, "\(run.errorText)")
        // Another declaration is found.
        let other = try check(before: headers, after: "GQuark g_variant_unref(GVariant *value);\n", flags)
        #expect(other.code != 0 && other.errorText.contains("conflicting types"), "\(other.errorText)")
    }

    @Test("No library that a product links asks pkg-config for flags that SwiftPM prohibits")
    func flagsOfProducts() throws {
        let manifest = try Repository.text(of: "Package.swift")
        let names = manifest.matches(of: /pkgConfig: "([^"]+)"/).map { String($0.1) }
        #expect(names.contains("libcrypto") && names.contains("sqlite3"))
        // libsecret's are prohibited, and only the program bench needs it.
        for name in names where name != "libsecret-1" {
            let run = try CommandRun.run("pkg-config", ["--cflags", "--libs", name])
            guard run.code == 0 else { continue }
            let words = run.text.split(whereSeparator: \.isWhitespace)
            #expect(
                words.allSatisfy { word in ["-I", "-L", "-l"].contains { word.hasPrefix($0) } },
                "\(name): \(run.text)")
        }
    }
}
