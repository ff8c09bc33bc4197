import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("Times on the command line")
struct TimeArgumentTests {
    /// The time at which a token expires that was stored with this `--expires`; `nil` if it was refused.
    private func expiry(_ home: CommandHome, _ text: String) throws -> Date? {
        let put = try home("token", "put", "s", "a", "--expires", text, "--json", input: [1])
        guard put.code == 0 else {
            #expect(put.code == 64 && put.errorCode == "invalidInput", "\(text): \(put.errorText)")
            return nil
        }
        let tokens = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        let shown = try #require(tokens?.first?["expires"] as? String)
        return try Date(shown, strategy: .iso8601)
    }

    @Test("Durations count from now")
    func durations() throws {
        let home = try CommandHome(passcode: nil)
        for (text, seconds) in [
            ("30s", 30), ("10m", 600), ("1h", 3600), ("90d", 7_776_000), ("2w", 1_209_600), ("1h30m", 5400),
            ("1d12h", 129_600), ("1w1d1h1m1s", 694_861), ("0s", 0), ("PT10M", 600), ("P90D", 7_776_000),
            ("P1DT12H", 129_600), ("P1W", 604_800), ("36500d", 3_153_600_000),
            ("60", 60), ("3600", 3600),
        ] as [(String, Double)] {
            let before = Date()
            let date = try #require(try expiry(home, text), "\(text)")
            // The list shows whole seconds.
            #expect(date >= before + seconds - 1 && date <= Date() + seconds + 1, "\(text)")
        }
    }

    @Test("A day begins at midnight in UTC; a date with a time has a zone")
    func dates() throws {
        let home = try CommandHome(passcode: nil)
        for (text, date) in [
            ("2027-01-31", "2027-01-31T00:00:00Z"), ("2028-02-29", "2028-02-29T00:00:00Z"),
            ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z"),
            ("2027-01-31T12:00:00+01:00", "2027-01-31T11:00:00Z"),
        ] {
            #expect(try expiry(home, text) == Date(date, strategy: .iso8601), "\(text)")
        }
    }

    @Test(
        "Anything else is refused, and nothing is stored",
        arguments: [
            "", "m", "10x", "10M", "1m1h", "1m1m", "1.5h", "-5m", "+5m", "5 m", "10m ",
            "tomorrow",
            "36501d", "3153600001", "99999999999w", "9999999999w", "P", "PT", "P1M", "P1Y", "PT1", "P1H",
            "1h30",
            "2027-02-29",
            "2027-13-01", "2027-1-31", "27-01-31", "1969-12-31", "2262-01-01", "٣m",
        ])
    func refused(_ text: String) throws {
        let home = try CommandHome(passcode: nil)
        let run = try home("token", "put", "s", "a", "--expires=\(text)", "--json", input: [1])
        #expect(run.code == 64 && run.errorCode != nil, "\(run.text)")
        #expect(try home.status()["tokens"] as? Int == 0)
    }

    @Test("A time in the past is stored, with a message")
    func past() throws {
        let home = try CommandHome(passcode: nil)
        for (text, isPast) in [("2020-01-01", true), ("0", true), ("1h", false)] {
            let put = try home("token", "put", "s", "a", "--expires", text, input: [1])
            #expect(put.code == 0 && put.errorText.contains("already expired") == isPast, "\(text)")
        }
    }

    @Test("token put and token refresh take --expires and --expires-in, and document the former")
    func names() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "a", "--expires-in", "1h", input: [1]).code == 0)
        #expect(try home.run(["token", "refresh", "s", "a", "--expires", "1h", "--", "echo", "x"]).code == 0)
        let both = ["token", "put", "s", "a", "--expires", "1h", "--expires-in", "1h"]
        #expect(try home.run(both, input: [1]).code == 64)
        for command in ["put", "refresh"] {
            let help = try CommandRun.coffer("help", "token", command).text
            #expect(help.contains("--expires <time>") && !help.contains("--expires-in"), "\(help)")
        }
    }

    @Test("A wrong time is answered with what the option takes")
    func messages() throws {
        let home = try CommandHome(passcode: nil)
        let held = try home("unlock", "--for", "abc").errorText
        #expect(held.hasPrefix("coffer: --for takes seconds, "), "\(held)")
        #expect(held.contains("at most 2147483647 seconds"), "\(held)")
        let expiry = try home("token", "put", "s", "a", "--expires", "abc", input: [1]).errorText
        #expect(expiry.contains("--expires takes seconds, ") && expiry.contains("90d or 2w"), "\(expiry)")
        let idle = try home("settings", "--inactivity", "abc").errorText
        #expect(idle.contains("525600 minutes") && idle.contains("5m, 1h"), "\(idle)")
    }

    @Test("A number that could be a year is refused; with a unit or as --expires-in, it means seconds")
    func years() throws {
        let home = try CommandHome(passcode: nil)
        for year in ["1900", "2027", "2999"] {
            for arguments in [["token", "put", "s", "a", "--expires", year], ["unlock", "--for", year]] {
                let run = try home.run(arguments + ["--json"], input: [1])
                #expect(run.code == 64 && run.errorCode == "invalidInput", "\(run.text)")
                let advice = "Write \(year)s for seconds or \(year)-01-01 for a date."
                #expect(run.text.contains(advice), "\(run.text)")
            }
        }
        #expect(try home.status()["tokens"] as? Int == 0)
        for time in ["1899", "2027s", "3000", "02027", "2027-01-01"] {
            #expect(try expiry(home, time) != nil, "\(time)")
        }
        let put = try home("token", "put", "s", "a", "--expires-in", "2027", input: [1])
        #expect(put.code == 0, "\(put.errorText)")
    }

    @Test("--expires-in takes the same")
    func expiresIn() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        for (text, code) in [
            ("3600", 0), ("1h", 0), ("2250-01-01", 0), ("0", 0), ("2001-01-01", 64), ("3153600001", 64),
            ("soon", 64),
        ] as [(String, Int32)] {
            let run = try home.run(
                ["token", "refresh", "s", "a", "--expires-in", text, "--", "printf", "new"])
            #expect(run.code == code, "\(text): \(run.errorText)")
        }
    }

    @Test("--for takes the same, and seconds", .enabled(if: KernelKeyring.isAvailable))
    func unlockFor() throws {
        let home = try CommandHome()
        let key = "coffer:\(try #require(try home.status()["vaultID"] as? String)):whenUnlockedThisDeviceOnly"
        // The kernel's list shows whole hours and minutes.
        for (text, range) in [("120", 60...120), ("10m", 500...600), ("1h30m", 3600...5400)] {
            #expect(try home("unlock", "--for", text).code == 0)
            let left = try #require(KernelKeys.secondsLeft(key))
            #expect(range.contains(left), "\(text): \(left)")
        }
        let tomorrow = (Date() + 86_400).formatted(.iso8601)
        #expect(try home("unlock", "--for", tomorrow).code == 0)
        #expect(try #require(KernelKeys.secondsLeft(key)) > 80_000)
        for text in ["2001-01-01", "0m", "69y", "36500d"] {
            #expect(try home("unlock", "--for", text).code == 64, "\(text)")
        }
    }
}
