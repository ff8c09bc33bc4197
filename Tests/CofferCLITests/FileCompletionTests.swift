import Foundation
import Testing
import TestSupport

@Suite("Completion of stored files")
struct FileCompletionTests {
    private func lines(_ run: CommandRun) -> [String] { run.text.split(separator: "\n").map(String.init) }

    @Test("A plain, unique name is offered as it is, any other file by its id")
    func words() throws {
        let home = try CommandHome(passcode: nil)
        for name in ["report.pdf", "Grüße.txt", "-", "cafe"] { _ = try home.add(try home.file(name, [1])) }
        let hostile = ["$(touch owned)", "a b", "`x`", "it's", "a:b", "c\nd", "*"]
        let ids = try hostile.map { try home.add(try home.file($0, [1])) }
        let twins = try (0..<2).map { _ in try home.add(try home.file("twin", [1])) }
        let run = try home("file", "names")
        #expect(run.code == 0, "\(run.errorText)")
        let plain = ["report.pdf", "Grüße.txt", "./-", "./cafe"]
        #expect(lines(run).sorted() == (plain + ids + twins).sorted())
        // Every word specifies its file.
        for word in lines(run) { #expect(try home("file", "cat", word).output == [1], "\(word)") }
        #expect(try home("file", "--help").text.contains("  names") == false)
    }

    @Test("A locked vault offers nothing and asks nothing")
    func locked() throws {
        let home = try CommandHome()
        _ = try home.add(try home.file("secret-name", [1]))
        let run = try home.run(["file", "names"], passcode: "")
        #expect(run.code == 4 && run.output.isEmpty)
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
    }

    @Test("bash completes a stored file's name, and runs nothing that a name contains")
    func bash() throws {
        let home = try CommandHome(passcode: nil)
        for name in ["report.pdf", "relevant", "$(touch owned)"] {
            _ = try home.add(try home.file(name, [1]))
        }
        let script = """
            cd "$2" && PATH="${1%/*}:$PATH" && export COFFER_HOME="$3"
            source /dev/stdin <<<"$(coffer --generate-completion-script bash)"
            complete_word() {
                COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
                COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
                _coffer coffer "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                printf '%s\\n' "${COMPREPLY[@]}" | sort
            }
            for command in cat view export remove verify rewrap rename; do
                complete_word coffer file $command re
            done
            complete_word coffer file cat ''
            """
        let folder = home.folder.path(percentEncoded: false)
        let run = try CommandRun.run(
            "bash", ["-c", script, "bash", CommandRun.cofferPath, folder, home.path],
            environment: ["LC_ALL": "C"])
        let expected = (0..<7).flatMap { _ in ["relevant", "report.pdf"] }
        #expect(lines(run).prefix(14) == expected[...], "\(run.text) \(run.errorText)")
        #expect(!FileManager.default.fileExists(atPath: folder + "/owned"))
    }
}
