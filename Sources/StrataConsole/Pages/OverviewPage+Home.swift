import Foundation
import Strata
import StrataInspection

/// The home of a working copy, and the nodes that share the store.
extension OverviewPage {
    /// The greatest number of nodes that are shown.
    private static let nodeLimit = 100
    /// The seconds without a report from which on a node is marked. Nodes report every five seconds.
    private static let longSilence: TimeInterval = 30

    struct Home: Sendable {
        let facts: Facts
        /// Nil if the nodes are not known.
        let nodes: Table?
        let note: String?
    }

    /// The part of the page about the home; nil for a store without a home.
    func home(_ record: StoreRecord, _ request: ConsoleRequest) async -> Home? {
        guard let home = record.home else { return nil }
        var facts = Facts()
        facts.add("Home", .text(home.name, to: ViewText.factLength))
        facts.add("This node", .text(home.node ?? "-", to: ViewText.factLength))
        if let position = home.position {
            facts.add("Last transaction", .number(position.number))
        } else {
            facts.add("Last transaction", .mark("damaged: open the stack again", Mark.bad))
        }
        switch await request.store.nodes.current() {
        case nil:
            return Home(
                facts: facts,
                nodes: nil,
                note: "This console reads the working copy alone, and does not ask its home."
            )
        case .failure(let error)?:
            let text = ViewText.line("The home does not list its nodes: \(error)", to: ViewText.factLength)
            return Home(facts: facts, nodes: nil, note: text)
        case .success(let nodes)?:
            let rest = nodes.count - Self.nodeLimit
            return Home(
                facts: facts,
                nodes: table(nodes, own: home.node, request),
                note: rest > 0 ? "\(rest) more nodes are not shown." : nil
            )
        }
    }

    private func table(_ nodes: [HomeNodeStatus], own: String?, _ request: ConsoleRequest) -> Table {
        var table = Table("Nodes", ["Node", "State", "Last report"], numbers: ["Transaction", "Behind"])
        for node in nodes.prefix(Self.nodeLimit) {
            var name = Cell.text(node.name)
            if let own, own.hasSameBytes(as: node.name) { name.note = "this node" }
            let isSilent = node.silence > Self.longSilence
            let ahead = node.transactionsAhead
            table.add([
                name, isSilent ? .mark("silent", Mark.warning) : .mark("reports", Mark.good),
                .age(of: request.time.addingTimeInterval(-node.silence), at: request.time),
                .number(node.position.number),
                ahead > 0
                    ? .mark("\(ahead) ahead", Mark.bad, isNumber: true) : .number(node.transactionsBehind),
            ])
        }
        table.whenEmpty = "No node has reported yet."
        return table
    }
}
