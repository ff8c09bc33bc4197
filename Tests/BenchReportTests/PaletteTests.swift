import Foundation
import Testing

@testable import BenchReport

@Suite("The colours of the page")
struct PaletteTests {
    /// The relative luminance of a colour by WCAG 2.
    private func luminance(_ colour: String) throws -> Double {
        let value = try #require(Int(colour, radix: 16))
        let parts = [16, 8, 0].map { (shift: Int) -> Double in
            let part = Double(value >> shift & 0xFF) / 255
            return part <= 0.040_45 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }

    private func contrast(_ one: String, _ other: String) throws -> Double {
        let (first, second) = (try luminance(one), try luminance(other))
        return (max(first, second) + 0.05) / (min(first, second) + 0.05)
    }

    @Test(
        "Text has a contrast of 4.5 with the ground, bars of 3 with what they lie on",
        arguments: [false, true])
    func contrasts(isDark: Bool) throws {
        let palette = isDark ? Palette.dark : Palette.light
        for text in [palette.text, palette.faint, palette.faster, palette.equal, palette.slower] {
            #expect(try contrast(text, palette.ground) >= 4.5, "\(text)")
        }
        for bar in [palette.faster, palette.equal, palette.slower] {
            #expect(try contrast(bar, palette.track) >= 3, "\(bar)")
            #expect(try contrast(bar, palette.band) >= 3, "\(bar)")
        }
    }

    @Test("The style has both schemes and every colour that its rules name")
    func variables() {
        let style = PageStyle.text(band: (49, 2))
        #expect(style.contains("prefers-color-scheme:dark"))
        #expect(style.contains(Palette.light.variables) && style.contains(Palette.dark.variables))
        #expect(style.contains(".band{left:49.00%;width:2.00%}"))
        for match in style.matches(of: /var\((--[a-z]+)\)/) {
            #expect(Palette.light.variables.contains("\(match.1):"), "\(match.1)")
        }
    }
}
