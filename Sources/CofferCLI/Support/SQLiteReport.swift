import Coffer
import CofferBase
import CofferCommandLine

extension DatabaseProgram {
    /// Returns the checks on the SQLite library that the program loads; none if the program is not installed.
    static func checks() -> [SecurityCheck] {
        do throws(CofferError) {
            return try sqlite()?["checks"]?.array?.compactMap { check in
                guard let name = check["name"]?.string,
                    let status = check["status"]?.string.flatMap(SecurityCheck.Status.init(rawValue:)),
                    let message = check["message"]?.string
                else { return nil }
                return SecurityCheck(name, status, message)
            } ?? []
        } catch {
            return [.notChecked("sqlite", error)]
        }
    }
}
