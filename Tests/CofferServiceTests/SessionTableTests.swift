import CofferBase
import CofferDBus
import Testing

@testable import CofferService

@Suite("The sessions of the Secret Service")
struct SessionTableTests {
    private static let limitError = "org.freedesktop.DBus.Error.LimitsExceeded"

    /// Opens sessions until the table refuses one, and returns their numbers and the error's name.
    private func fill(_ table: inout SessionTable, _ owner: String) -> (numbers: [Int], error: String) {
        var numbers: [Int] = []
        while true {
            do throws(ServiceError) {
                numbers.append(try table.open("plain", .text(""), owner: owner).number)
            } catch {
                return (numbers, error.name)
            }
        }
    }

    @Test("A connection has a limit of its own, and closing a session makes room for one")
    func limitOfOne() throws {
        var table = SessionTable()
        let (numbers, error) = fill(&table, ":1.1")
        #expect(numbers.count == SessionTable.limitPerOwner)
        #expect(error == Self.limitError)
        #expect(throws: ServiceError.self) { try table.close(numbers[0], owner: ":1.2") }
        #expect(fill(&table, ":1.1").numbers.isEmpty)
        try table.close(numbers[0], owner: ":1.1")
        #expect(fill(&table, ":1.1").numbers.count == 1)
    }

    @Test("Connections that take all they get leave sessions for others")
    func greedy() {
        var table = SessionTable()
        var left = SessionTable.limit - SessionTable.reserve
        for owner in 1...4 {
            let numbers = fill(&table, ":1.\(owner)").numbers
            #expect(numbers.count == max(min(SessionTable.limitPerOwner, left), SessionTable.few))
            left -= numbers.count
        }
        for owner in 5...20 {
            let (numbers, error) = fill(&table, ":1.\(owner)")
            #expect(numbers.count == SessionTable.few)
            #expect(error == Self.limitError)
        }
        #expect(table.numbers.count < SessionTable.limit)
    }

    @Test("All connections together have a limit, and one that leaves makes room")
    func limitOfAll() throws {
        var table = SessionTable()
        for owner in 1...1000 { _ = fill(&table, ":1.\(owner)") }
        #expect(table.numbers.count == SessionTable.limit)
        #expect(fill(&table, ":1.1001").error == Self.limitError)
        table.closeAll(of: ":1.1002")
        #expect(table.numbers.count == SessionTable.limit)
        table.closeAll(of: ":1.1")
        #expect(table.numbers.count == SessionTable.limit - SessionTable.limitPerOwner)
        #expect(fill(&table, ":1.1001").numbers.count >= SessionTable.few)
        table.closeAll(of: ":1.1001")
        #expect(throws: ServiceError.self) { _ = try table.transport(1, owner: ":1.1") }
        #expect(throws: Never.self) { _ = try table.transport(257, owner: ":1.2") }
    }
}
