import Testing

@testable import Strata

enum TicketUrgency: Int, OrderedAttributeValue { case low = 1, normal = 5, high = 10 }
enum TicketGrade: String, Codable, OrderedAttributeValue { case a, b, c }
struct TicketVersion: RawRepresentable, OrderedAttributeValue { var rawValue: Double }

@Model final class Ticket {
    var urgency: TicketUrgency
    var grade: TicketGrade?
    var version: TicketVersion = TicketVersion(rawValue: 1)
}

@Suite("Enums with ordered raw values")
struct OrderedEnumTests {
    @Test("They are compared, sorted and totalled without additional code")
    func comparisonsAndTotals() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Ticket.self], stack: .rootOnly)
        try await stack.background { context in
            for (urgency, grade) in [(.high, .b), (.low, nil), (.normal, .c)] as [(TicketUrgency, TicketGrade?)] {
                context.insert(
                    Ticket(urgency: urgency, grade: grade, version: TicketVersion(rawValue: Double(urgency.rawValue)))
                )
            }
            for isSaved in [false, true] {
                if isSaved { try context.commit() }
                #expect(try context.column(Ticket.sorted { $0.urgency }, \.urgency) == [.low, .normal, .high])
                #expect(try context.count(Ticket.where { $0.urgency > .low && $0.urgency <= .high }) == 2)
                #expect(
                    try context.count(Ticket.where { $0.urgency.between(TicketUrgency.low...TicketUrgency.normal) })
                        == 2
                )
                #expect(try context.count(Ticket.where { $0.grade >= .b }) == 2)
                #expect(try context.maximum(Ticket.all, \.urgency) == .high)
                #expect(try context.minimum(Ticket.all, \.grade) == .b)
                #expect(try context.maximum(Ticket.all, \.version)?.rawValue == 10)
            }
        }
        #expect(TicketUrgency.low < .high && TicketGrade.a < .b && [TicketUrgency.high, .low].min() == .low)
        try await stack.close()
    }
}
