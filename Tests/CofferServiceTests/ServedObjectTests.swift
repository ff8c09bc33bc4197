import CofferBase
import CofferDBus
import Synchronization
import Testing

@testable import CofferService

@Suite("Paths and attributes of the Secret Service")
struct ServedObjectTests {
    private func kind(_ path: String) -> String {
        switch ServedObject(path, aliases: ["default": "login"]) {
        case .service: "service"
        case .collection(let id): "collection \(id)"
        case .item(let key): "item \(key.collection) \(key.item)"
        case .session(let number): "session \(number)"
        case .prompt(let number): "prompt \(number)"
        case .folder: "folder"
        case nil: "none"
        }
    }

    @Test("A path names one object")
    func paths() {
        let root = "/org/freedesktop/secrets"
        #expect(kind(root) == "service")
        #expect(kind(root + "/collection/login") == "collection login")
        #expect(kind(root + "/aliases/default") == "collection login")
        #expect(kind(root + "/aliases/default/i1") == "item login i1")
        #expect(kind(root + "/collection/login/i1") == "item login i1")
        #expect(kind(root + "/session/s12") == "session 12")
        #expect(kind(root + "/prompt/p3") == "prompt 3")
        for folder in ["/", "/org", "/org/freedesktop", root + "/collection", root + "/aliases"] {
            #expect(kind(folder) == "folder", "\(folder)")
        }
        for none in [
            "/o", "/org/free", root + "x", root + "/other", root + "/aliases/none", root + "/session/12",
            root + "/session/s1/x", root + "/collection/a/b/c",
        ] {
            #expect(kind(none) == "none", "\(none)")
        }
    }

    @Test("Attributes are compared byte by byte, and the last of two with one name counts")
    func attributes() {
        let attributes = ItemAttributes([
            ("b", "1"), ("a", "2"), ("b", "3"), ("e\u{301}", "x"), ("\u{E9}", "y"),
        ])
        #expect(attributes.pairs.count == 4)
        #expect(attributes.contain(ItemAttributes([("b", "3")])))
        #expect(!attributes.contain(ItemAttributes([("b", "1")])))
        #expect(attributes.contain(ItemAttributes([("\u{E9}", "y")])))
        #expect(!attributes.contain(ItemAttributes([("\u{E9}", "x")])))
        #expect(!attributes.isSame(as: ItemAttributes([("b", "3")])))
    }

    @Test("A call that is released without an answer is answered with an error")
    func unanswered() {
        final class Seen: Sendable {
            let answers = Mutex<[String]>([])
        }
        let seen = Seen()
        do {
            let call = ServedCall(sender: ":1.1", path: "/", interface: "", member: "M", arguments: []) {
                if case .error(let name, _) = $0 { seen.answers.withLock { $0.append(name) } }
            }
            _ = call
        }
        #expect(seen.answers.withLock { $0 } == ["org.freedesktop.DBus.Error.Failed"])
    }
}
