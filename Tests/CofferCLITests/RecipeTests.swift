import CofferEngine
import Foundation
import Testing
import TestSupport

/// Runs the recipes of the article as it prints them.
@Suite("Documents: recipes")
struct RecipeTests {
    @Test("Every block of the article has a name, and each of these has a test")
    func names() throws {
        let page = try RecipePage()
        #expect(page.unnamed.isEmpty, "\(page.unnamed)")
        #expect(
            Set(page.blocks.keys) == [
                "server-setup", "server-unit", "ci-prepare", "ci-job", "container", "container-run",
                "desktop", "desktop-unit", "git", "docker", "aws",
            ])
    }

    /// Root's commands, for tests that do not run as root: the service's user is the user of the tests.
    private static let rootCommands = """
        useradd() { local -a all=("$@"); mkdir -m 700 "${all[-2]}"; }
        runuser() { [[ "$1 $2 $3" == "-u hello --" ]]; shift 3; "$@"; }

        """

    @Test("A server: the unit's command gets the token, with the passcode from systemd's credential")
    func server() throws {
        let host = try RecipeHost()
        try host.write("home/api-key", "the key\n")
        let setup = try host.run(Self.rootCommands + host.recipe("server-setup"))
        #expect(setup.code == 0 && setup.text.hasSuffix("\n1\n"), "\(setup.errorText)")
        #expect(try host.run("stat -c %a \"$1\"".with(host.path("etc/hello/passcode"))).text == "600\n")

        try host.write("bin/hello", "#!/bin/sh\ncat \"$API_KEY_FILE\"; exit 3\n", isProgram: true)
        let unit = try host.recipe("server-unit")
        let command = try #require(RecipePage.value("ExecStart=", in: unit))
        #expect(
            RecipePage.value("LoadCredential=", in: unit) == "passcode:" + host.path("etc/hello/passcode"))
        let run = try host.run(command.replacingOccurrences(of: "%d", with: host.path("etc/hello")))
        #expect(run.code == 3 && run.text == "the key", "\(run.errorText)")
        try host.write("etc/hello/passcode", "another\n")
        let wrong = try host.run(command.replacingOccurrences(of: "%d", with: host.path("etc/hello")))
        #expect(wrong.code == 5 && wrong.output.isEmpty)
        #expect(try host.run("coffer wipe --yes --home \"$1\"".with(host.path("lib/hello/vault"))).code == 0)
    }

    @Test(
        "systemd accepts the units, and no other programs in them",
        .enabled(if: RecipeHost.has("systemd-analyze")), arguments: ["server-unit", "desktop-unit"])
    func units(_ name: String) throws {
        let host = try RecipeHost()
        let unit = try #require(try RecipePage().blocks[name])
        let verify = "systemd-analyze \(name == "server-unit" ? "" : "--user") verify ../recipe.service"
        try host.write("recipe.service", unit)
        let run = try host.run(verify)
        #expect(run.code == 0 && !run.errorText.contains("recipe.service"), "\(run.errorText)")
        for (old, new) in [("ExecStart=", "ExecStart=/nowhere"), ("[Service]", "[Service]\nNone=1")] {
            try host.write("recipe.service", unit.replacingOccurrences(of: old, with: new))
            #expect(try host.run(verify).errorText.contains("recipe.service"), "\(new)")
        }
    }

    @Test("A CI job gets the token from the sealed file, ends as its program does and leaves nothing")
    func job() throws {
        let host = try RecipeHost()
        try host.write("home/deploy-key", "the key")
        let prepared = try host.run(host.recipe("ci-prepare"))
        #expect(prepared.code == 0, "\(prepared.errorText)")
        let script = "#!/bin/sh\ncat \"$DEPLOY_KEY\"; echo \"|$PASSPHRASE|\"; exit 42\n"
        try host.write("home/deploy", script, isProgram: true)
        let job = try host.run("export PASSPHRASE=\"$(<ci-passphrase)\"\n" + host.recipe("ci-job"))
        #expect(job.code == 42 && job.text.hasSuffix("the key||\n"), "\(job.errorText)")
        let left = try host.run("for home in \"$TMPDIR\"/*/vault; do coffer status --home \"$home\"; done")
        #expect(!left.text.contains("unlocked") && left.code == 0, "\(left.text)")
        #expect(try host.run("grep -rlF 'the key' \"$TMPDIR\" ci-tokens.coffer").code == 1)
        #expect(try host.run("grep -lF 'the key' deploy-key").code == 0)
        let wrong = try host.run("export PASSPHRASE='another passphrase'\n" + host.recipe("ci-job"))
        #expect(wrong.code != 0 && wrong.code != 42 && !wrong.text.contains("the key"))
    }

    @Test("A container: the entry point makes the vault, stores the token and starts the server")
    func container() throws {
        let host = try RecipeHost()
        let image = try host.recipe("container")
        let entry = try Self.words(RecipePage.value("ENTRYPOINT ", in: image))
        let server = try Self.words(RecipePage.value("CMD ", in: image))
        // What Docker makes of the image: the entry point with the arguments after the image's name.
        let docker = """
            docker() {
                [[ $1 == run ]] || return 0
                while [[ $1 != hello ]]; do shift; done
                shift
                [[ $# -gt 0 ]] || set -- \(server)
                \(entry) "$@"
            }

            """
        try host.write("run/passcode", "correct horse battery\n")
        try host.write("home/api-key", "the key\n")
        try host.write("bin/hello", "#!/bin/sh\ncat \"$API_KEY_FILE\"\n", isProgram: true)
        let run = try host.run(
            "mkdir -m 700 \"$HOME/../lib/hello\"\n" + docker + host.recipe("container-run"))
        #expect(run.code == 0 && run.text.hasSuffix("\n1\nthe key"), "\(run.errorText)")
        #expect(try host.run("coffer wipe --yes --home \"$1\"".with(host.path("lib/hello/vault"))).code == 0)
    }

    /// A JSON list as words of the shell.
    private static func words(_ list: String?) throws -> String {
        let data = Data(try #require(list).utf8)
        let words = try #require(try JSONSerialization.jsonObject(with: data) as? [String])
        return words.map { "'" + $0.replacingOccurrences(of: "'", with: "'\\''") + "'" }
            .joined(separator: " ")
    }

    @Test(
        "A desktop: one unlock, a token that is typed without echo, and a file",
        .enabled(if: KernelKeyring.isAvailable))
    func desktop() throws {
        let host = try RecipeHost()
        try host.write("home/report.pdf", "the report")
        let after = """

            coffer token get api.example.org ada
            coffer file cat report.pdf
            coffer lock
            coffer token get api.example.org ada </dev/null || echo "ended with $?"
            coffer wipe --yes
            """
        // No movable items, and no recovery key.
        let answers = ["2468", "2468", "n", "n", "2468", "the key"]
        let run = try host.onTerminal(answers, host.recipe("desktop") + after)
        #expect(run.code == 0 && run.prompts == 6, "\(run.shown)")
        // An echo would show them at the end of a line.
        #expect(!run.shown.contains("2468") && !run.shown.contains("the key\r\n"), "\(run.shown)")
        for text in ["the keythe report", "ended with 4", "Wiped"] { #expect(run.shown.contains(text)) }
    }

    @Test("git stores, fills in and forgets a password")
    func git() throws {
        let host = try RecipeHost()
        let request = "printf 'protocol=https\\nhost=git.example.org\\n%s\\n' \"$password\" | git credential"
        let run = try host.run(
            """
            coffer init --no-passcode --keyring file >/dev/null
            \(host.recipe("git"))
            password=$'username=ada\\npassword=secret\\n'
            \(request) approve
            coffer token list --json
            password=
            \(request) fill
            password=$'username=ada\\npassword=secret\\n'
            \(request) reject
            coffer token list --json
            """)
        #expect(run.code == 0 && run.text.contains("username=ada\npassword=secret\n"), "\(run.errorText)")
        #expect(run.text.hasPrefix(#"{"tokens":[{"service":"git:https://git.example.org","#), "\(run.text)")
        #expect(run.text.contains("\n{\"tokens\":[],"))
    }

    private static let dockerCommands = """

        printf '{"ServerURL":"registry.example.org","Username":"ada","Secret":"secret"}' |
            docker-credential-coffer store
        printf registry.example.org | docker-credential-coffer get
        python3 -c 'import json; print(json.load(open(".docker/config.json"))["credsStore"])'

        """

    @Test("Docker's protocol stores, finds and forgets a password")
    func docker() throws {
        let host = try RecipeHost()
        let last = """
            printf registry.example.org | docker-credential-coffer erase
            docker-credential-coffer list
            """
        let start = "coffer init --no-passcode --keyring file >/dev/null\n"
        let run = try host.run(start + host.recipe("docker") + Self.dockerCommands + last)
        let credential = #"{"ServerURL":"registry.example.org","Username":"ada","Secret":"secret"}"#
        #expect(run.code == 0 && run.text == credential + "\ncoffer\n{}\n", "\(run.text) \(run.errorText)")
    }

    @Test(
        "Docker itself finds the helper: a logout removes the password",
        .enabled(if: RecipeHost.has("docker")))
    func dockerLogout() throws {
        let host = try RecipeHost()
        let start = "coffer init --no-passcode --keyring file >/dev/null\n"
        let logout = "docker logout registry.example.org\ndocker-credential-coffer list\n"
        let run = try host.run(start + host.recipe("docker") + Self.dockerCommands + logout)
        #expect(run.code == 0 && run.text.hasSuffix("registry.example.org\n{}\n"), "\(run.text)")
    }

    private func configuredForAWS(_ last: String) throws -> CommandRun {
        let host = try RecipeHost()
        try host.write("home/secret-access-key", "the/secret+key\r\n")
        let start = "coffer init --no-passcode --keyring file >/dev/null\n"
        return try host.run(start + host.recipe("aws") + "\n" + last)
    }

    @Test("AWS: the configured command prints the keys")
    func aws() throws {
        let run = try configuredForAWS("$(sed -n 's/^credential_process = //p' .aws/config)")
        let line = try #require(run.text.split(separator: "\n").last, "\(run.errorText)")
        let keys = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(run.code == 0 && keys?["Version"] as? Int == 1)
        #expect(keys?["AccessKeyId"] as? String == "AKIAEXAMPLE")
        #expect(keys?["SecretAccessKey"] as? String == "the/secret+key")
    }

    @Test("The AWS tools take their keys from the command", .enabled(if: RecipeHost.has("aws")))
    func awsTools() throws {
        let run = try configuredForAWS("aws configure list")
        #expect(run.code == 0 && run.text.contains("custom-process"), "\(run.text) \(run.errorText)")
        #expect(run.text.contains("MPLE"))
    }
}

extension String {
    /// The script with its first parameter set.
    fileprivate func with(_ parameter: String) -> String { "set -- '\(parameter)'\n" + self }
}
