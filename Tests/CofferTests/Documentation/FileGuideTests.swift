import Coffer
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Runs the archive of the article on files.
@Suite("Documents: the archive of the article on files")
struct FileGuideTests {
    @Test("The archive seals a file, finds it, shows it, exports it and removes it")
    func archive() async throws {
        let home = try TestHome()
        let scratch = try ScratchDirectory.make()
        try scratch.write("report.pdf", Array("report".utf8))
        let archive = DocumentArchive(vault: try await home.create())

        let file = try await archive.add(scratch.path.appending("report.pdf"))
        #expect(try await archive.find("report.pdf") == file)
        #expect(try await archive.find("letter.pdf") == nil)
        #expect(try await archive.length(of: file) == 6)

        try await archive.show(file) { path in
            let content = try Data(contentsOf: URL(filePath: path.string))
            #expect(content == Data("report".utf8))
        }
        let copy = scratch.path.appending("copy.pdf")
        try await archive.export(file, to: copy)
        #expect(try Data(contentsOf: URL(filePath: copy.string)) == Data("report".utf8))
        #expect(try await archive.remove(file))
        #expect(try await archive.find("report.pdf") == nil)
    }
}
