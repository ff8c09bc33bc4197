import Foundation
import Testing
import TestSupport

/// `{}` in the command of `coffer file view`.
@Suite("coffer file view, {} in arguments")
struct ViewPlaceholderTests {
    private func make(_ name: String) throws -> CommandHome {
        let home = try CommandHome(passcode: nil, environment: ["XDG_RUNTIME_DIR": ""])
        _ = try home.add(try home.file(name, Array("content".utf8)))
        return home
    }

    @Test("{} is replaced wherever it stands, as often as it stands there")
    func expanded() throws {
        let home = try make("letter.txt")
        let print = ["sh", "-c", "printf '%s\\n' \"$@\"", "sh"]
        for (arguments, shape) in [
            (["--file={}"], ["--file=P"]), (["{}", "{}"], ["P", "P"]), (["{}:{}"], ["P:P"]),
            (["a", "b"], ["a", "b", "P"]), ([], ["P"]), (["x{}y", "{"], ["xPy", "{"]),
            (["{ }"], ["{ }", "P"]),
        ] as [([String], [String])] {
            let run = try home.run(["file", "view", "letter.txt", "--"] + print + arguments)
            let lines = run.text.split(separator: "\n").map(String.init)
            try #require(run.code == 0 && lines.count == shape.count, "\(arguments): \(run.errorText)")
            let first = try #require(lines.first { $0.contains("/letter.txt") })
            let start = try #require(first.firstIndex(of: "/"))
            let end = try #require(first.range(of: "letter.txt")).upperBound
            let path = String(first[start..<end])
            #expect(lines == shape.map { $0.replacingOccurrences(of: "P", with: path) }, "\(arguments)")
        }
        #expect(try home("file", "view", "letter.txt", "--", "sh", "-c", "cat {}").text == "content")
        #expect(
            try home("file", "view", "letter.txt", "--descriptor", "--", "sh", "-c", "cat <{}").text
                == "content")
    }

    @Test(
        "A name that a program could take apart is fine as an argument, and is refused inside one",
        arguments: [
            "a b", "$(touch owned)", "a;touch owned", "it's", "`touch owned`", "a\nb", "a,b", "a@b",
            "a:b", "a%b",
        ])
    func hostile(_ name: String) throws {
        let home = try make(name)
        let target = home.folder.appending(path: "owned").path(percentEncoded: false)
        let code = "cd \(home.folder.path(percentEncoded: false)); cat {}"
        let run = try home("file", "view", "./" + name, "--json", "--", "sh", "-c", code)
        #expect(run.code == 64 && run.errorCode == "invalidInput", "\(run.errorText)")
        #expect(run.errorText.contains("sh {}") && !FileManager.default.fileExists(atPath: target))
        let separate = try home("file", "view", "./" + name, "--", "sh", "-c", "cat \"$1\"", "sh", "{}")
        #expect(separate.text == "content", "\(separate.errorText)")
        let descriptor = try home(
            "file", "view", "./" + name, "--descriptor", "--", "dd", "if={}", "status=none")
        #expect(descriptor.text == "content", "\(descriptor.errorText)")
        for option in ["X={}", "--file={}", "@{}", "{}:{}"] {
            let run = try home("file", "view", "./" + name, "--", "sh", "-c", "echo ran", "sh", option)
            #expect(run.code == 64 && run.text.isEmpty, "\(option)")
            #expect(run.errorText.contains("Pass {} as an argument of its own"), "\(run.errorText)")
        }
    }

    @Test("A name is not run as the code of a shell, whether {} stands there or the path is appended")
    func codeOptions() throws {
        let name = "a;touch owned"
        let home = try make(name)
        let target = home.folder.appending(path: "owned").path(percentEncoded: false)
        let shell = ["sh", "-c", "cd \"$0\" && exec \"$@\"", home.folder.path(percentEncoded: false)]
        for arguments in [
            ["sh", "-c", "{}"], ["sh", "-c"], ["bash", "-lc", "{}"], ["sh", "-c", "X={}"],
            ["sh", "-e", "{}"],
        ] {
            let run = try home.run(["file", "view", "./" + name, "--"] + shell + arguments)
            #expect(run.code == 64 && run.errorText.contains("sh {}"), "\(arguments): \(run.errorText)")
            #expect(!FileManager.default.fileExists(atPath: target), "\(arguments)")
        }
        #expect(try home("file", "view", "./" + name, "--", "wc", "{}", "-c").text.hasPrefix("7 "))
        let plain = try make("letter.txt")
        #expect(try plain("file", "view", "letter.txt", "--", "wc", "-c").text.hasPrefix("7 "))
    }
}
