@testable import CofferOAuth
import CofferBase
import Foundation
import Testing
import TestSupport

@Suite("The user's browser")
struct BrowserLauncherTests {
    private let url: HTTPSURL

    /// The text that programs receive.
    private let address = "https://login.example.org/authorize%21?a=%24%28id%29&b=%27%3Bx%2A&c=[~]"

    init() throws { url = try HTTPSURL("https://login.example.org/authorize!?a=$(id)&b=';x*&c=[~]") }

    private func arguments(_ command: [String]) -> [String] {
        BrowserLauncher.arguments(command, url).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("If no program opens the URL, the error says so")
    func none() async {
        let launcher = BrowserLauncher(
            programs: "no-such-program-here:false", patience: .seconds(60), fallback: ["false"])
        await #expect(throws: CofferError.self) { try await launcher.open(url) }
    }

    @Test("The URL is one argument, without characters that a shell script could run")
    func oneArgument() {
        #expect(arguments(["a", "--url=%s", "b%%"]) == ["a", "--url=" + address, "b%"])
        #expect(arguments(["a", "-x"]) == ["a", "-x", address])
        #expect(arguments(["a%cb", "%", "%d", "%s"]) == ["a:b", "%", "%d", address])
    }

    @Test("Programs are tried in order, and xdg-open is the last")
    func order() {
        let launcher = BrowserLauncher(programs: "one %s::two  -n:  ")
        #expect(launcher.commands == [["one", "%s"], ["two", "-n"], ["xdg-open"]])
        #expect(BrowserLauncher(programs: nil).commands == [["xdg-open"]])
    }

    @Test("The first program that works receives the URL without a shell")
    func opens() async throws {
        let scratch = try ScratchDirectory.make()
        let file = scratch.path(of: "url")
        let script = scratch.path(of: "browser")
        try Data("printf '%s' \"$1\" >'\(file)'\n".utf8).write(to: URL(filePath: script))
        let launcher = BrowserLauncher(
            programs: "no-such-program-here:sh \(script)", patience: .seconds(60), fallback: ["false"])
        try await launcher.open(url)
        let written = try Data(contentsOf: URL(filePath: file))
        #expect(written == Data(address.utf8))
    }
}
