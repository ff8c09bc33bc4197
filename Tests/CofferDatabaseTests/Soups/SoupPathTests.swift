import CofferBase
import TestSupport
import Testing

@testable import CofferDatabase

@Suite("Paths and fields of soups")
struct SoupPathTests {
    @Test("An entry has its id and its dates in fields of the soup")
    func fields() {
        let value: JSONValue = ["_soupEntryId": 7, "_soupLastModifiedDate": 9]
        #expect(value.soupEntryID == 7 && value.soupLastModifiedDate == 9 && value.soupCreatedDate == nil)
    }

    @Test("Paths are taken apart by dots, with backslashes before those that are part of a key")
    func paths() throws {
        #expect(try SoupPath("a.B.c").components == ["a", "B", "c"])
        #expect(try SoupPath(#"a\.b.c\\d"#).components == ["a.b", #"c\d"#])
        #expect(try SoupPath("ключ.é😀. ").components == ["ключ", "é😀", " "])
        for bad in ["", ".", "a.", ".a", "a..b", #"a\"#, #"a\b"#, "a\u{0}b", "a\nb"] {
            #expect(failure { _ = try SoupPath(bad) } == .invalidInput)
        }
        let long = String(repeating: "a.", count: 64)
        #expect(failure { _ = try SoupPath(long + "a") } == .invalidInput)
        #expect(failure { _ = try SoupPath(String(repeating: "a", count: 1025)) } == .invalidInput)
        #expect(try SoupPath(long.dropLast(1).description).components.count == 64)
    }

    @Test("Arrays on a path stand for their elements")
    func projection() throws {
        let document: JSONValue = [
            "a": [["b": 1], ["b": nil], ["c": 2], ["b": [3, 4]], 5], "x": ["y": nil], "e": [], "d.d": 6,
        ]
        #expect(try SoupPath("a.b").project(document) == [1, [3, 4]])
        #expect(try SoupPath("a.b").project(document, throughArrays: false) == nil)
        #expect(try SoupPath("a.z").project(document) == nil)
        #expect(try SoupPath("x.y").project(document) == .null)
        #expect(try SoupPath("x.y.z").project(document) == nil)
        #expect(try SoupPath("e").project(document) == [])
        #expect(try SoupPath(#"d\.d"#).project(document) == 6)
        #expect(try SoupPath("d.d").project(document) == nil)
        #expect(try SoupPath("X").project(document) == nil)
    }
}
