/// The first eight bytes of every kind of file that Coffer writes, each declared once.
enum FileMagic {
    static let device = "COFFERD1"
    static let keybag = "COFFERK1"
    static let attempts = "COFFERA1"
    static let state = "COFFERS1"
    static let tokens = "COFFERT1"
    static let fileKeys = "COFFERW1"
    static let pendingToken = "COFFERQ1"
    static let fileIndex = "COFFERX1"
    static let order = "COFFERO1"
    static let orderBook = "COFFERP1"
    static let container = "COFFERF1"
    static let export = "COFFERE1"
    static let innerHeader = "COFFERI1"
}
