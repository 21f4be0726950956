import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The queued or finished operations, with filters and bulk actions.
struct OperationsPage: ConsolePage {
    let path = "operations"
    let title = "Operations"
    let group: NavigationGroup? = .queues
    let needs = StoreNeeds.queues
    let template = PageTemplate.operations

    static let pageSize = 50
    /// The greatest number to which the operations of a list are counted.
    static let countLimit = 1000

    struct Values: Sendable {
        let form: FilterForm
        let count: String
        let table: Table
        /// The form around the table; nil without check boxes.
        let check: Check?
        /// Why the list shows less than all; nil if it does not.
        let note: String?
        /// The links to other pages. They are below the form, and therefore not part of the table.
        let pager: Pager
        /// The links that change all operations of the list; nil without any.
        let all: All?
    }

    /// The form with the check boxes.
    struct Check: Sendable {
        struct Item: Sendable {
            let name: String
            let value: String
        }

        /// The values of the list's address, to which the person returns.
        let items: [Item]
        let changes: [Change]
    }

    struct Change: Sendable {
        let name: String
        let title: String
    }

    struct All: Sendable {
        let count: String
        let links: [TitledLink]
    }

    private struct Found: Sendable {
        let page: OperationSearch.Found
        let rows: [JobRow]
        let count: BoundedCount
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let selection = try OperationSelection(request.query, at: request.time)
        let position = try ListPosition(request.query)
        let found = try await request.read { context in
            let search = OperationSearch(context: context)
            let page = try search.page(selection, position, size: Self.pageSize)
            let (ids, isFinished) = (page.ids, selection.isFinished)
            let rows =
                try isFinished ? JobRow.rows(ofFinished: ids, in: context) : JobRow.rows(ofQueued: ids, in: context)
            return Found(page: page, rows: rows, count: try search.count(selection, upTo: Self.countLimit))
        }
        let isChangeable = request.allowsChanges && !selection.isFinished
        let previous = found.page.previous.flatMap { link("before", $0, selection, request) }
        let next = found.page.next.flatMap { link("after", $0, selection, request) }
        let values = Values(
            form: selection.form,
            count: found.count.text,
            table: table(found.rows, selection, isChangeable: isChangeable, request),
            check: isChangeable && !found.rows.isEmpty ? check(selection) : nil,
            note: note(found.page, hasLinks: found.page.next == nil || next != nil),
            pager: Pager(previous: previous, next: next),
            all: isChangeable && found.count.count > 0 ? all(selection, found.count, request) : nil
        )
        return PageContent(values)
    }

    private func link(
        _ name: String,
        _ position: PageToken,
        _ selection: OperationSelection,
        _ request: ConsoleRequest
    ) -> String? {
        request.link(path, items: selection.items(isFixed: true) + [(key: name, value: "\(position)")])
    }

    private func note(_ page: OperationSearch.Found, hasLinks: Bool) -> String? {
        if !hasLinks {
            return "The list continues, but a name at this position is too long for an address. Use filters."
        }
        guard page.isCut else { return nil }
        let limit = BoundedCount.operations(OperationSearch.greatestExamined)
        return "No index has these filters, so a page examines at most \(limit). The next page continues there."
    }

    // MARK: Rows

    /// - Parameter isChangeable: whether the rows have check boxes.
    private func table(
        _ found: [JobRow],
        _ selection: OperationSelection,
        isChangeable: Bool,
        _ request: ConsoleRequest
    ) -> Table {
        var table = Table(
            selection.isFinished ? "Finished operations" : "Queued operations",
            ["Operation", "Status", "Type", "Pipeline", "Lane", "Key"],
            numbers: selection.isFinished ? ["Attempts"] : ["Priority", "Attempts"],
            selection.isFinished ? ["Queued", "Finished"] : ["Queued"]
        )
        for row in found {
            let id = "\(row.id)"
            let check = Table.CheckBox(name: "id", value: id, label: "Select operation \(id)")
            table.add(cells(row, selection, request), check: isChangeable ? check : nil)
        }
        table.whenEmpty = selection.isEmpty ? "No operation is queued." : "No operation here meets the filters."
        return table
    }

    private func check(_ selection: OperationSelection) -> Check {
        let marked = Check.Item(name: "marked", value: "yes")
        let items = selection.items(isFixed: false).map { Check.Item(name: $0.key, value: $0.value) } + [marked]
        return Check(items: items, changes: OperationChange.allCases.map { Change(name: $0.rawValue, title: $0.title) })
    }

    private func cells(_ row: JobRow, _ selection: OperationSelection, _ request: ConsoleRequest) -> [Cell] {
        var cells: [Cell] = [
            .text("\(row.id)", href: request.address(ofOperation: row.id)),
            .mark(row.status, Mark.kind(ofStatus: row.status)), .text(row.type), .text(row.pipeline), .text(row.lane),
            .text(row.key ?? "-"),
        ]
        if !selection.isFinished { cells.append(.number(row.priority)) }
        cells += [.number(row.attempts), .age(of: row.queuedAt, at: request.time)]
        if selection.isFinished { cells.append(.age(of: row.finishedAt, at: request.time)) }
        return cells
    }

    private func all(_ selection: OperationSelection, _ count: BoundedCount, _ request: ConsoleRequest) -> All? {
        // All operations of a store are never meant, and other filters alone would read all of them.
        guard selection.queued.hasIndex else { return nil }
        let links = OperationChange.allCases.compactMap { change -> TitledLink? in
            let items = [(key: "change", value: change.rawValue)] + selection.items(isFixed: true)
            return TitledLink(change.title, request.link("operations/change", items: items))
        }
        return All(count: count.text, links: links)
    }
}
