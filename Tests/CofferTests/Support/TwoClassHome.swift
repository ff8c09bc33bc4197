import Coffer
import Foundation
import SystemPackage

/// A home as the release with two protection classes made it: passcode `correct horse`, and for the service
/// `api.example.org` the token `kept from before` of account `ada` and `outlasts` of account `after`, the
/// second one of the class afterFirstUnlockThisDeviceOnly. Zeros are left out.
enum TwoClassHome {
    struct File {
        let path: String
        let size: Int
        /// Base64 by offset.
        let pieces: [Int: String]

        var bytes: [UInt8] {
            var bytes = [UInt8](repeating: 0, count: size)
            for (offset, text) in pieces {
                let piece = [UInt8](Data(base64Encoded: text) ?? Data())
                bytes.replaceSubrange(offset..<offset + piece.count, with: piece)
            }
            return bytes
        }
    }

    static let files = [
        File(
            path: "state", size: 512,
            pieces: [
                0:
                    "Q09GRkVSUzEAAQAAAAAAAPlhL8g4lE58uiNrBGUqWoNMSVZF"
            ]),
        File(
            path: "vault/device", size: 128,
            pieces: [
                0:
                    "Q09GRkVSRDEAAQAAAAAAAPlhL8g4lE58uiNrBGUqWoN2rcvJ6lVL+3F93yk14moKhS1s1SlSZCVT+5RZ"
                    + "Qv6c5A==",
                96:
                    "i1rBWvpTxwgtirX0iqcO63THsa9dVY3orWrsbT9/BuQ=",
            ]),
        File(
            path: "vault/keybag", size: 8192,
            pieces: [
                0:
                    "Q09GRkVSSzEAAQAAAAAAAAAAAAAAAAAB+WEvyDiUTny6I2sEZSpagwAAAQoBAAEAAAACWKIWN95mO+ml"
                    + "Ztr+0EbEca3w6c0lmVkxMw/dB8svyFk8AQAAAAAAIAAAAAACELUS3axiGY2CWb80VxxhUgACAAEBAAAA"
                    + "AAAAATxq4YSalLuVSCCmRA8RdH5gkeeqQweakYzo5Ep+pzDQn/3BRu561E8GMe/yZ8c8yElxr9kCU3UX"
                    + "y0i9PgE/C/N4zGH4yf2D4/+cqlnzBJPoIsXmlzNNM2UAAgEAAAAAAAAB26253O+jKtKIEr+FR0WghaLy"
                    + "H0uqE3UurN8dq8wa0hNk2lO7RaSt/1Px+dVT4tNJirFExqbR9kRLXOwVdsgvRyZVdT5PQ0L2J4EkJV9i"
                    + "zz6NMp5rMD1kGA==",
                4064:
                    "C2jtiUme3AxrpXe40X8fUOR1Z9HL364PDYYupu70iHJDT0ZGRVJLMQABAAAAAAAAAAAAAAAAAAH5YS/I"
                    + "OJROfLojawRlKlqDAAABCgEAAQAAAAJYohY33mY76aVm2v7QRsRxrfDpzSWZWTEzD90Hyy/IWTwBAAAA"
                    + "AAAgAAAAAAIQtRLdrGIZjYJZvzRXHGFSAAIAAQEAAAAAAAABPGrhhJqUu5VIIKZEDxF0fmCR56pDB5qR"
                    + "jOjkSn6nMNCf/cFG7nrUTwYx7/JnxzzISXGv2QJTdRfLSL0+AT8L83jMYfjJ/YPj/5yqWfMEk+gixeaX"
                    + "M00zZQACAQAAAAAAAAHbrbnc76Mq0ogSv4VHRaCFovIfS6oTdS6s3x2rzBrSE2TaU7tFpK3/U/H51VPi"
                    + "00mKsUTGptH2REtc7BV2yC9HJlV1Pk9DQvYngSQlX2LPPo0ynmswPWQY",
                8160:
                    "C2jtiUme3AxrpXe40X8fUOR1Z9HL364PDYYupu70iHI=",
            ]),
        File(
            path: "vault/attempts", size: 1024,
            pieces: [
                0:
                    "Q09GRkVSQTEAAQAAAAAAAAAAAAAAAAAF+WEvyDiUTny6I2sEZSpagwAAADQ=",
                480:
                    "ZD8S/dGhENxtie2gO1mLwJJOR5EFtM6ZXwDqw3c+gZhDT0ZGRVJBMQABAAAAAAAAAAAAAAAAAAX5YS/I"
                    + "OJROfLojawRlKlqDAAAANA==",
                992:
                    "ZD8S/dGhENxtie2gO1mLwJJOR5EFtM6ZXwDqw3c+gZg=",
            ]),
        File(
            path: "vault/tokens", size: 670,
            pieces: [
                0:
                    "Q09GRkVSVDEAAQAAAAAAAPlhL8g4lE58uiNrBGUqWoOCa2M4VOMBQsap+vDOxO3ySsLLMsx2jp6wvKZc"
                    + "QS6tRodue2ZSTyym1ySzIO+ee9MnaoKozzR4umXDVCEDzujaSRvOmHqwk/olY7ChDaUIwLaWvqPggPb6"
                    + "Upul/xfCqeRIdNZLUFPjgFjjiI3KtRyKmj5e/6+E5NPOXmyOpafY+3uFwmsTlrZCz3xra15BCx4uNzdc"
                    + "2jD+yVRw+itx9eAPB3Y9M8l237olUIruy4AbEccdlZK5PEfmmvuRcVL1IPTgFpHzQ+Kiw6ExYq69cHNr"
                    + "yhNFMoxSdQo3lvfpsbsHu7yH5ygRt6mB72+q53U3QrUoeNxV7EHN1zaPgBOcCuOJ9tr8VEwWMwKxt+6t"
                    + "hEM553uy7c6VgqgQ5SQo9HJJi9i99BiMikW8jGuS0Q1Q3l7LWGQuIYl8k6nrD+N2mZlT0fG7+KvdOg08"
                    + "GZHD8O7cl5HfGHIHc7/LLJdkY2vMUQJhCh+H51RhAowTD+3PLGFadBynK0+XjVG6Rb85faQTRZTb1TmG"
                    + "2u4Aw61hbKWHtcNsP/6fBA3+lst3BRDtkfFIQLSOl8IylIXREXUnEdd7E0fcGYFq69HuzT8uCkzjlD/e"
                    + "ttNjIkOyz/cHKzBFJTVjS+71g3/Hly0lXK+bNU8V8ljA+OhqvAdogMhdrwT9XhBVHFfLX7Ie7015Kl/O"
                    + "Hlg69YEqnM1kT2151uwMGx6FIsouz/JQ+EOdYG4VP3/j+oPCVOCTeSqRsQQM7UxKodkoe6HPrejXycth"
                    + "m66ZBsWZAbmskVf54OeHBHMngsygGHw/wjm1lCYOaYAX+Z1nL9UvUE3uXSolE9Ti1dNCRV9O+iR0vOY/"
                    + "mMDVQIhMLVMZEg=="
            ]),
    ]

    static let passcode = "correct horse"

    /// The home on the disk.
    static func make() throws -> TestHome {
        let home = try TestHome()
        let manager = FileManager.default
        let own: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        for directory in [home.location.path, home.path("files")] {
            try manager.createDirectory(
                atPath: directory.string, withIntermediateDirectories: true, attributes: own)
        }
        for directory in [home.location.path, home.location.path.appending("vault")] {
            try manager.setAttributes(own, ofItemAtPath: directory.string)
        }
        for file in files {
            let path = home.location.path.appending(file.path).string
            let isMade = manager.createFile(
                atPath: path, contents: Data(file.bytes), attributes: [.posixPermissions: 0o600])
            guard isMade else { throw CocoaError(.fileWriteUnknown) }
        }
        return home
    }
}
