import Testing

@testable import BenchReport

@Suite("The page of a report")
struct HTMLPageTests {
    private let results = [
        Samples.result("pbkdf2-sha256/600k/32", 2.76), Samples.result("documented-key"),
        Samples.result("vault-file-get/1"), Samples.result("vault-file-put/1"),
        Samples.result("vault-file-get/100"), Samples.result("gcm-seal/64", 0.9, peer: "swift-crypto"),
        Samples.result("gcm-seal/64", 1.001), Samples.result("db-scan", 0.72, peer: "sqlite"),
        Samples.result("tomorrow/1", 1.5, peer: "cp"),
    ]

    @Test("The summary is ahead of the charts: counts, best, worst, machine, versions, date, kind of run")
    func summary() throws {
        let page = Samples.page(results)
        let end = try #require(page.firstRange(of: "<h2>"))
        let head = page[..<end.lowerBound]
        for part in [
            "<b>2</b> faster", "<b>1</b> equal within ±3 %", "<b>2</b> slower",
            "<dt>Best</dt><dd>2.760 x, pbkdf2-sha256/600k/32 against openssl</dd>",
            "<dt>Worst</dt><dd>0.720 x, db-scan against sqlite</dd>", "4 figures", "A processor, 2 cores",
            "<dt>OpenSSL</dt><dd>3.0.19</dd>", "<dt>Swift</dt><dd>6.3.1</dd>", "2026-01-31T12:00:00Z",
            "<dt>Run</dt><dd>full</dd>",
        ] { #expect(head.contains(part), "\(part)") }
        #expect(Samples.page(results, quick: true).contains("<dt>Run</dt><dd>quick"))
        #expect(!Samples.page(results, quick: nil).contains("<dt>Run</dt>"))
    }

    @Test("Every heading is there once, with its sentence, though the results alternate")
    func headings() {
        let page = Samples.page(results)
        for name in ["Key derivation", "Ciphers", "Tokens", "Databases", "Other"] {
            #expect(Samples.count("<h2>\(name)</h2>", in: page) == 1, "\(name)")
        }
        #expect(!page.contains("<h2>Files</h2>") && !page.contains("<h2>Skipped</h2>"))
        for name in ["vault-file-get", "vault-file-put", "gcm-seal", "tomorrow"] {
            #expect(Samples.count("<h3>\(name)</h3>", in: page) == 1, "\(name)")
        }
        let sentence = Meaning.of("gcm-seal")?.sentence ?? "–"
        #expect(Samples.count("<p>\(sentence)</p>", in: page) == 1)
        #expect(Samples.count("<li class=\"row", in: page) == results.count)
    }

    @Test("Comparisons have a bar and a word; figures without a peer have their time and no bar")
    func rows() {
        let page = Samples.page(results)
        #expect(Samples.count("class=\"bar\"", in: page) == 5)
        #expect(page.contains("<b>2.760 x</b> faster") && page.contains("<b>0.900 x</b> slower"))
        #expect(page.contains("<b>1.001 x</b> equal") && page.contains("<li class=\"row equal\">"))
        #expect(page.contains("no peer</span><span class=\"verdict\"><b>1.00 µs</b></span>"))
        #expect(page.contains("1.00 µs (900 ns – 1.10 µs); theirs 2.76 µs"))
        // The scale reaches to 4, and there is no axis above figures that are all without a peer.
        #expect(Samples.count("1/4 x, slower", in: page) == 4)
    }

    @Test("A missing peer stands once at the end, with all that lack it")
    func skipped() throws {
        let skips = ["gcm-seal/64", "gcm-open/64", "gcm-open/64"].map {
            Skip(name: $0, peer: "swift-crypto", reason: "not built")
        }
        let other = Skip(name: "file-seal-memory/10GiB", peer: nil, reason: "needs <memory>")
        let page = Samples.page(results, skipped: skips + [other])
        #expect(Samples.count("swift-crypto: not built", in: page) == 1)
        #expect(page.contains("<br>gcm-seal/64, gcm-open/64</li>"))
        #expect(page.contains("<b>Without a figure: needs &lt;memory&gt;</b><br>file-seal-memory/10GiB"))
        let start = try #require(page.firstRange(of: "<h2>Skipped</h2>"))
        #expect(!page[start.upperBound...].contains("<h2>"))
    }

    @Test("There is no script and nothing from elsewhere")
    func alone() {
        let page = Samples.page(results)
        for part in ["<script", "<link", "<img", "http:", "https:", "src=", "href=", "url(", "@import"] {
            #expect(!page.contains(part), "\(part)")
        }
        #expect(page.contains("default-src 'none'"))
    }

    @Test("Hostile names are text everywhere")
    func hostile() {
        // The combining stroke makes one character of itself and what stands before it.
        let name = "<\u{338}script>\"'&\u{202E}\u{0}"
        let safe = "&lt;\u{338}script&gt;&quot;&#39;&amp;\u{FFFD}\u{FFFD}"
        #expect(HTMLText.escaped(name).utf8.elementsEqual(safe.utf8))
        let machine = MachineDescription(
            cpu: name, cores: 1, os: name, openssl: name, swift: name, date: name)
        let rows = [
            Samples.result(name, 2, peer: name, version: name, note: name), Samples.result("db-scan", 1),
            Samples.result("\(name)/\(name)", 0.1, peer: name, version: name, note: name),
        ]
        let alone = Measurement(
            name: name, unit: name, ours: Distribution([1]), samples: 1, note: name)
        let skip = Skip(name: name, peer: name, reason: name)
        let page = HTMLPage(
            report: Report(machine: machine, quick: true, results: rows + [alone], skipped: [skip])
        ).text
        let scalars = Array(page.unicodeScalars)
        let tags = scalars.indices.filter { scalars[$0] == "<" && scalars.indices.contains($0 + 1) }
        #expect(
            tags.allSatisfy { scalars[$0 + 1] != "\u{338}" && scalars[$0 + 1] != "s" || isOwn($0, scalars) })
        #expect(!scalars.contains("\u{202E}") && !scalars.contains("\u{0}"))
    }

    /// Whether the tag at an index is one of the page's own that begin with an s.
    private func isOwn(_ index: Int, _ scalars: [Unicode.Scalar]) -> Bool {
        ["<style>", "<section>", "<section ", "<span ", "<span>", "<small>"].contains {
            scalars[index...].starts(with: $0.unicodeScalars)
        }
    }

    @Test("Figures that are no numbers are dashes")
    func figures() {
        #expect(Format.fixed(.infinity, 2) == "–" && Format.fixed(.nan, 2) == "–")
        #expect(Format.fixed(1e300, 0) == "–" && Format.fixed(-0.001, 2) == "0.00")
        #expect(Format.fixed(2.7549, 3) == "2.755" && Format.quantity(1.5e6, "ns") == "1.50 ms")
    }
}
