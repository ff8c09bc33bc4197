/// The colours of the page in one scheme, as six hexadecimal digits.
struct Palette {
    let ground: String
    let text: String
    let faint: String
    let track: String
    let band: String
    let faster: String
    let equal: String
    let slower: String

    /// Blue and orange, which people who confuse red and green tell apart.
    static let light = Palette(
        ground: "ffffff", text: "1a1d21", faint: "56606a", track: "eceff2", band: "c3cad1", faster: "0b5cad",
        equal: "56606a", slower: "a3461c")
    static let dark = Palette(
        ground: "15181b", text: "e7eaed", faint: "a3adb6", track: "23282d", band: "3b434b", faster: "6fb1ff",
        equal: "a3adb6", slower: "f0975f")

    /// The colours as CSS variables.
    var variables: String {
        "--ground:#\(ground);--text:#\(text);--faint:#\(faint);--track:#\(track);--band:#\(band);"
            + "--faster:#\(faster);--equal:#\(equal);--slower:#\(slower)"
    }
}

/// The style sheet of the page.
enum PageStyle {
    static func text(band: (start: Double, width: Double)) -> String {
        """
        :root{color-scheme:light dark;\(Palette.light.variables)}
        @media(prefers-color-scheme:dark){:root{\(Palette.dark.variables)}}
        \(rules)
        .band{left:\(Format.fixed(band.start, 2))%;width:\(Format.fixed(band.width, 2))%}
        """
    }

    /// A row is three lines on a narrow screen and one on a wide screen. Bars that point to the left are
    /// hatched, so that their colour is not the only difference.
    private static let rules = """
        *{box-sizing:border-box}
        body{background:var(--ground);color:var(--text);font:16px/1.45 system-ui,sans-serif;max-width:78rem;\
        margin:0 auto;padding:1.25rem 1rem 3rem;overflow-wrap:anywhere}
        h1{font-size:1.5rem;margin:0 0 .5rem}h2{font-size:1.2rem;margin:2.25rem 0 .25rem}
        h3{font-size:1rem;margin:1.25rem 0 0}
        p,small,.times,dt,.ends,.skipped li{color:var(--faint);font-size:.9rem}p{margin:0 0 .4rem}
        ul{list-style:none;margin:0;padding:0}
        .counts{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;font-size:1.1rem;margin:.5rem 0}
        .counts b{font-size:1.5rem}
        dl{margin:.5rem 0 1rem;display:grid;grid-template-columns:6.5rem minmax(0,1fr);gap:.15rem .75rem}
        dd{margin:0;font-size:.9rem}
        .row{display:grid;grid-template:"what verdict" "chart chart" "times times"/minmax(0,1fr) auto;\
        gap:.15rem 1rem;align-items:center;padding:.35rem 0;border-top:1px solid var(--track)}
        .axis{border:0;padding:.35rem 0 0}
        .what{grid-area:what}.what small{display:block}
        .verdict{grid-area:verdict;text-align:right;font-variant-numeric:tabular-nums}
        .times{grid-area:times;font-variant-numeric:tabular-nums}
        .chart,.ends{grid-area:chart}.ends{display:flex;justify-content:space-between}
        .chart{position:relative;height:.9rem;background:var(--track)}
        .chart i{position:absolute;top:0;bottom:0}
        .chart .band{background:var(--band)}
        .chart .bar{top:.15rem;bottom:.15rem;min-width:2px}
        .chart::after{content:"";position:absolute;left:50%;top:-.1rem;bottom:-.1rem;\
        border-left:1px solid var(--text)}
        .faster b{color:var(--faster)}.equal b{color:var(--equal)}.slower b{color:var(--slower)}
        .faster .bar{background:var(--faster)}.equal .bar{background:var(--equal)}
        .slower .bar{background:repeating-linear-gradient(135deg,var(--slower) 0 5px,var(--track) 5px 7px)}
        .skipped li{margin:.35rem 0}
        @media(min-width:60rem){.row{grid-template:"what chart verdict times"/14rem minmax(0,1fr) 8rem 18rem}}
        """
}
