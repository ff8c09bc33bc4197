/// The values that identify vault files, container headers, token exports and signed commands: the first
/// eight bytes of each kind.
package enum FileMagic {
    package static let device = "COFFERD1"
    package static let keybag = "COFFERK1"
    package static let attempts = "COFFERA1"
    package static let anchors = "COFFERL1"
    package static let anchorFile = "COFFERH1"
    package static let recovery = "COFFERR1"
    package static let lastBackup = "COFFERB1"
    package static let state = "COFFERS1"
    package static let tokens = "COFFERT1"
    package static let keyPairs = "COFFERY1"
    package static let fileKeys = "COFFERW1"
    package static let pendingToken = "COFFERQ1"
    package static let fileIndex = "COFFERX1"
    package static let order = "COFFERO1"
    package static let policy = "COFFERZ1"
    package static let orderBook = "COFFERP1"
    package static let container = "COFFERF1"
    package static let export = "COFFERE1"
    package static let servedIndex = "COFFERV1"
    package static let innerHeader = "COFFERI1"
}
