import Strata
import StrataInspection
import StrataPipeline

/// Where a page of a list begins.
enum ListPosition: Sendable {
    case first
    case after(PageToken)
    case before(PageToken)

    /// Reads the values `after` and `before` of an address.
    ///
    /// - Throws: ``ConsoleError`` for a text that is not a position.
    init(_ query: ConsoleFields) throws {
        if let text = query.filled("after") {
            self = .after(try Self.token(text))
        } else if let text = query.filled("before") {
            self = .before(try Self.token(text))
        } else {
            self = .first
        }
    }

    private static func token(_ text: String) throws -> PageToken {
        guard let token = PageToken(text) else {
            throw ConsoleError.invalid("The position in the list is damaged. Start at the first page.")
        }
        return token
    }

    var token: PageToken? {
        switch self {
        case .first: nil
        case .after(let token), .before(let token): token
        }
    }

    var isForward: Bool { if case .before = self { false } else { true } }
}

/// Finds a page of operations in the order of an index.
///
/// The index contains some of the filters. If there are others, the search reads the operations of the index in portions
/// and leaves out those that do not meet them. It ends after ``greatestExamined`` operations, so that a page takes little
/// time in a queue of any length. The next page continues there.
struct OperationSearch {
    /// The greatest number of operations that one page examines.
    static let greatestExamined = 10_000
    private static let portion = 500

    struct Found: Sendable {
        /// The id numbers of operations, in the order of the list.
        var ids: [Int64] = []
        var previous: PageToken?
        var next: PageToken?
        /// Whether the search has ended early, before it had found enough.
        var isCut = false
    }

    let context: ObjectContext

    /// A page of the selected operations.
    ///
    /// - Throws: `StrataError` with `invalidToken` for a position in another list.
    /// - Complexity: O(operations on the page), and O(``greatestExamined``) with filters that no index contains.
    func page(_ selection: OperationSelection, _ position: ListPosition, size: Int) throws -> Found {
        if selection.isFinished { return try finished(selection.ended, position, size: size) }
        return try queued(selection.queued, position, size: size)
    }

    private func queued(_ filter: OperationFilter, _ position: ListPosition, size: Int) throws -> Found {
        func matching(_ ids: [Int64]) throws -> [Int64] {
            var rest = filter
            (rest.ids, rest.tag) = (ids, nil)
            return try context.ids(rest.query).map(\.rawValue)
        }
        if let tag = filter.tag {
            // The index of tags is read in portions. A query for the operations of a tag would read all its rows.
            let tags = OperationTag.where { $0.name == tag }.sorted { $0.operation.ascending }
            return try page(tags, position, size: size, portion: Self.portion) { ids in
                try kept(operations(ofTags: ids), matching)
            }
        }
        if filter.isIndexed { return try page(filter.query, position, size: size, portion: size) { $0 } }
        return try page(filter.searched.query, position, size: size, portion: Self.portion) { ids in
            try kept(ids, matching)
        }
    }

    private func finished(_ filter: FinishedFilter, _ position: ListPosition, size: Int) throws -> Found {
        func matching(_ ids: [Int64]) throws -> [Int64] {
            var rest = filter
            (rest.ids, rest.tag) = (ids, nil)
            return try context.ids(rest.query).map(\.rawValue)
        }
        if let tag = filter.tag {
            let tags = OperationTag.where { $0.name == tag }.sorted { $0.operation.descending }
            return try page(tags, position, size: size, portion: Self.portion) { ids in
                try kept(operations(ofTags: ids), matching)
            }
        }
        if filter.isIndexed { return try page(filter.query, position, size: size, portion: size) { $0 } }
        return try page(filter.searched.query, position, size: size, portion: Self.portion) { ids in
            try kept(ids, matching)
        }
    }

    /// The number of selected operations up to a limit.
    ///
    /// - Complexity: as ``page(_:_:size:)``.
    func count(_ selection: OperationSelection, upTo limit: Int) throws -> BoundedCount {
        let found = try page(selection, .first, size: limit)
        return BoundedCount(count: found.ids.count, isComplete: found.next == nil)
    }

    // MARK: Portions

    /// A page of the objects of a query, each of which represents an operation.
    ///
    /// - Parameters:
    ///   - portion: the number of objects that are read at once.
    ///   - kept: the operation for each id, in the same order; nil for an object that the list leaves out.
    private func page<Object: Model>(
        _ query: Query<Object>,
        _ position: ListPosition,
        size: Int,
        portion: Int,
        _ kept: ([Int64]) throws -> [Int64?]
    ) throws -> Found {
        let isForward = position.isForward
        func read(_ count: Int, _ token: PageToken?) throws -> QueryPage<ObjectID<Object>> {
            if isForward { return try context.idPage(query, size: count, after: token) }
            return try context.idPage(query, size: count, before: token)
        }
        var (ids, examined, token): ([Int64], Int, PageToken?) = ([], 0, position.token)
        // The positions beside the page: on the side of the given position, and on the other one.
        var (near, far): (PageToken?, PageToken?) = (nil, nil)
        repeat {
            let objects = try read(portion, token)
            if examined == 0 { near = isForward ? objects.previous : objects.next }
            let operations = try kept(objects.elements.map(\.rawValue))
            let ordered: [Int64?] = isForward ? operations : operations.reversed()
            var used = 0
            for operation in ordered where ids.count < size {
                used += 1
                if let operation { ids.append(operation) }
            }
            examined += used
            // The page may end within the portion.
            let last = try used < operations.count ? read(used, token) : objects
            far = isForward ? last.next : last.previous
            token = far
        } while ids.count < size && far != nil && examined < Self.greatestExamined
        return Found(
            ids: isForward ? ids : ids.reversed(),
            previous: isForward ? near : far,
            next: isForward ? far : near,
            isCut: ids.count < size && far != nil
        )
    }

    /// The operations, with nil for those that do not meet a condition.
    private func kept(_ operations: [Int64], _ matching: ([Int64]) throws -> [Int64]) throws -> [Int64?] {
        let found = Set(try matching(operations))
        return operations.map { found.contains($0) ? $0 : nil }
    }

    /// The operations of tags, in the order of the ids.
    private func operations(ofTags ids: [Int64]) throws -> [Int64] {
        var operations: [Int64: Int64] = [:]
        for row in try context.rows(Self.selectTags(ids)) {
            guard let id = row.lenient("id").lenientInteger else { continue }
            operations[id] = row.lenient("operation").lenientInteger
        }
        // A portion must keep its length. No operation has the id 0.
        return ids.map { operations[$0] ?? 0 }
    }

    static func selectTags(_ ids: [Int64]) -> SQL {
        "SELECT \"id\", \"operation\" FROM \"OperationTag\" WHERE \"id\" IN \(list: ids)"
    }
}

/// A number of operations that were counted up to a limit.
struct BoundedCount: Sendable {
    let count: Int
    /// Whether all operations were counted.
    let isComplete: Bool

    /// The number in words, such as `1 operation` or `1,000+ operations`.
    var text: String {
        let noun = count == 1 && isComplete ? "operation" : "operations"
        return "\(Self.text(count))\(isComplete ? "" : "+") \(noun)"
    }

    /// A number with commas between groups of three digits.
    static func text(_ count: Int) -> String {
        let digits = Array("\(count)")
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// A number of operations in words.
    static func operations(_ count: Int) -> String { BoundedCount(count: count, isComplete: true).text }
}
