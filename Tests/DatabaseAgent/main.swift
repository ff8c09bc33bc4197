import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage

// The second process of database tests: MODE FORMAT KEY PATH JOURNAL [NUMBER or KEY [CACHE]]. A key is 64
// digits, or a passphrase after a colon.

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    guard arguments.count >= 5, let format = DatabaseFormat(rawValue: arguments[1]) else {
        throw CofferError(.invalidInput, "MODE FORMAT KEY PATH JOURNAL [NUMBER or KEY [CACHE]]")
    }
    var agent = DatabaseAgent(
        format: format, keyHex: arguments[2], path: FilePath(arguments[3]), journal: arguments[4])
    if arguments.count > 6, let cache = Int(arguments[6]) { agent.cache = cache }
    let number = arguments.count > 5 ? Int(arguments[5]) ?? 0 : 0
    switch arguments[0] {
    case "make": try agent.make()
    case "write": try agent.write(writer: number)
    case "read": try agent.read()
    case "check": try agent.check()
    case "work": try agent.work()
    case "scan": try agent.scan(times: number)
    case "rekey": try agent.rekey(to: arguments.count > 5 ? arguments[5] : "")
    case "soup-make": try SoupAgent(queue: agent.open()).make()
    case "soup-alter": try SoupAgent(queue: agent.open()).alter()
    case "soup-check": try SoupAgent(queue: agent.open()).check()
    case "create": try agent.create()
    case "rows": try agent.rows()
    case "fork": try ForkAgent(agent).run()
    case "temporary": try TemporaryAgent.run(agent, isEncrypted: true)
    case "temporary-plain": try TemporaryAgent.run(agent, isEncrypted: false)
    case "hot": try agent.leaveHot(rows: number)
    case "hot-many": try agent.leaveHot(rows: number, transactions: 10)
    case "revoke": try RevocationAgent.run(agent)
    case "volatile": try VolatileAgent.run(at: agent.path)
    default: throw CofferError(.invalidInput, "no such mode")
    }
} catch {
    DatabaseAgent.say("failed: \(error)")
    exit(1)
}
