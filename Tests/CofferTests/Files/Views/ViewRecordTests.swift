@testable import Coffer
import CofferEngine
import SystemPackage
import Testing
import TestSupport

/// The vault's note of its directory under /dev/shm, which becomes part of a path.
@Suite("The record of the view directory")
struct ViewRecordTests {
    private func isTaken(_ record: String) throws -> Bool {
        let scratch = try ScratchDirectory.make()
        let bytes = Array(record.utf8)
        try scratch.descriptor.replace("viewroot", with: bytes.span)
        return ViewRootRecord(in: scratch.descriptor).shared != nil
    }

    @Test("A name that Coffer made is accepted")
    func aNameOfOursIsTaken() throws {
        #expect(try isTaken("coffer-" + String(repeating: "0a", count: 16)))
    }

    @Test(
        "Any other name is ignored, even with a combining mark after a slash",
        arguments: [
            "coffer-" + String(repeating: "a", count: 31), "coffer-" + String(repeating: "a", count: 33),
            "coffer-x/../../" + String(repeating: "a", count: 24),
            // To Swift's characters there is no slash in these, and 39 of them.
            "coffer-x/\u{301}../" + "\u{301}" + String(repeating: "a", count: 27),
            "coffer-/\u{301}" + String(repeating: "a", count: 31),
            "coffer-" + String(repeating: "é", count: 32), "coffer-" + String(repeating: "A", count: 32),
            "coffer-\u{301}" + String(repeating: "a", count: 32),
            "", "coffer-",
        ])
    func anythingElseIsPassedOver(_ record: String) throws { #expect(try !isTaken(record)) }
}
