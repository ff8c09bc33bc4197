import CofferEngine
import Foundation

/// Who runs the tests.
enum TestUser {
    static var isRoot: Bool { Environment.userID == 0 }
    /// A user without rights.
    static let nobody = 65534
}
