import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage

// The second process of database tests: MODE FORMAT KEY-HEX PATH JOURNAL [NUMBER].

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    guard arguments.count >= 5, let format = DatabaseFormat(rawValue: arguments[1]) else {
        throw CofferError(.invalidInput, "MODE FORMAT KEY-HEX PATH JOURNAL [NUMBER]")
    }
    let agent = DatabaseAgent(
        format: format, keyHex: arguments[2], path: FilePath(arguments[3]), journal: arguments[4])
    let number = arguments.count > 5 ? Int(arguments[5]) ?? 0 : 0
    switch arguments[0] {
    case "make": try agent.make()
    case "write": try agent.write(writer: number)
    case "read": try agent.read()
    case "check": try agent.check()
    case "hot": try agent.leaveHot(rows: number)
    default: throw CofferError(.invalidInput, "no such mode")
    }
} catch {
    DatabaseAgent.say("failed: \(error)")
    exit(1)
}
