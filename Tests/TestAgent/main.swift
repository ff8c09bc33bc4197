import Coffer
import CofferEngine
import Foundation
import SystemPackage

// The second process of tests. Each mode prints `ready`, then what the test waits for, line by line.

let arguments = CommandLine.arguments.dropFirst()
do {
    try await Agent.run(Array(arguments))
} catch {
    Agent.say("failed: \((error as? CofferError)?.code.name ?? "\(error)")")
    exit(1)
}
