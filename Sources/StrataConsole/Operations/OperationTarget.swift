import Foundation
import Strata
import StrataPipeline

/// The operations that a change concerns: some by their ids, or all of a selection.
struct OperationTarget: Sendable {
    /// The greatest number of ids in an address.
    static let greatestIDs = 200

    /// Empty for all operations of the selection.
    let ids: [Int64]
    /// The selection; beside ids, that of the list from which they come.
    let selection: OperationSelection

    /// - Throws: ``ConsoleError`` for a wrong id, too many ids, and a selection that no index finds.
    init(_ query: ConsoleFields, at time: Date) throws {
        let texts = query.texts("id")
        guard texts.count <= Self.greatestIDs else {
            throw ConsoleError.invalid("More than \(Self.greatestIDs) operations cannot be named in one address.")
        }
        ids = try texts.map { text in
            guard let id = Int64(text), (1...ConsoleFields.greatestID).contains(id) else {
                throw ConsoleError.invalid("'\(ViewText.line(text))' is not the id of an operation.")
            }
            return id
        }
        selection = try OperationSelection(query, at: time)
        guard ids.isEmpty else { return }
        // The form with the check boxes means the marked operations, and never all that match.
        if query.filled("marked") != nil || selection.isEmpty {
            throw ConsoleError.invalid(
                "Select operations first: mark them in the list, or filter it and change all that match. Nothing was "
                    + "changed."
            )
        }
        if selection.isFinished {
            throw ConsoleError.invalid("Finished operations cannot be changed. Select queued ones.")
        }
        // All operations of a store are never meant, and other filters alone would read all of them.
        guard selection.queued.hasIndex else {
            throw ConsoleError.invalid(
                "To change all operations that match, filter them by pipeline, status or tag. Nothing was changed."
            )
        }
    }

    var filter: OperationFilter {
        guard !ids.isEmpty else { return selection.queued }
        var filter = OperationFilter(at: selection.time)
        filter.ids = ids
        return filter
    }

    /// The values of an address with this target.
    var items: [(key: String, value: String)] {
        ids.map { (key: "id", value: "\($0)") } + selection.items(isFixed: ids.isEmpty)
    }

    /// The path of the list, with the selection.
    var list: String { ConsoleLink.path("operations", items: selection.items(isFixed: false)) ?? "operations" }

    /// The target in words, for the log.
    var names: [String] {
        if !ids.isEmpty { return ids.map { "\($0)" } }
        return items.map { "\($0.key)=\($0.value)" }
    }
}
