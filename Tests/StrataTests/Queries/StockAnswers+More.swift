@testable import Strata

// Queries whose answers are more than lists: cursors, sections, groups, prefetched relationships.

extension StockAnswers {
    /// The objects of a cursor while others run, one of them over the same query.
    func walked() throws -> [[StoredValue]] {
        var found: [Object] = []
        let other = try context.cursor(query)
        try context.forEach(query) { object in
            if try other.next() !== object { run.fail("two cursors of one query differ at \(object.id)") }
            found.append(object)
        }
        return try values(found)
    }

    /// All pages of the query without its limit and offset, from the first page on and from the last page back.
    func checkPages(size: Int) {
        var query = query
        (query._$parts.limit, query._$parts.offset) = (nil, nil)
        let answers = StockAnswers(run: run, context: context, reference: reference, query: query)
        answers.compare(.objects, "pages") { try answers.paged(size, isForward: true) }
        answers.compare(.objects, "pages from the end") { try answers.paged(size, isForward: false) }
    }

    private func paged(_ size: Int, isForward: Bool) throws -> [[StoredValue]] {
        var (found, token): ([[StoredValue]], PageToken?) = ([], nil)
        repeat {
            let page =
                try isForward
                ? context.rowPage(query, size: size, after: token) : context.rowPage(query, size: size, before: token)
            let rows = try page.elements.map { try values($0) }
            found = isForward ? found + rows : rows + found
            token = isForward ? page.next : page.previous
            // Pages that repeat rows must fail the comparison, and not run for ever.
        } while token != nil && found.count < 10_000
        return found
    }

    func checkSections<Key: GroupKey>(_ key: (Object.Columns) -> Key) where Key.Root == Object {
        let node = key(Object.columns)._$key.node
        let expected = ResultShape.sections(node)
        compare(expected, "sections") {
            // The key is compared through the rows that share a section.
            let keys = try reference.answer(query, expected).map { $0[$0.count - 1] }
            let sections = try context.sections(query, by: key)
            if sections.contains(where: \.elements.isEmpty) { run.fail("an empty section") }
            let rows = try values(sections.flatMap(\.elements))
            let starts = Set(sections.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.elements.count) })
            for index in rows.indices
            where index > 0 && starts.contains(index) == keys[index].isSame(as: keys[index - 1]) {
                run.fail("a section of \(Object.self) begins or ends in the wrong place")
            }
            return zip(rows, keys).map { $0 + [$1] }
        }
    }

    /// Groups by the key, with totals of a column.
    func checkGroups<Key: GroupKey, Value: ColumnValue>(
        _ key: (Object.Columns) -> Key,
        _ column: (Object.Columns) -> Column<Object, Value>,
        _ condition: Condition<Object>
    ) where Key.Root == Object, Value.Unwrapped: NumericAttributeValue {
        run.cases += 1
        var grouped = query.grouped(by: key)
        if run.generator.chance(2) { grouped = grouped.having { $0.count > 1 || $0.sum(column) == .zero } }
        if run.generator.chance(2) { grouped = grouped.sorted { [$0.count.descending, $0.maximum(column).ascending] } }
        if run.generator.chance(4) { grouped = grouped.limit(run.generator.below(4)) }
        let columns = grouped.columns
        let nodes = [
            columns.count.node, columns.count { _ in condition }.node, columns.count(distinct: column).node,
            columns.sum(column).node, columns.average(column).node, columns.minimum(column).node,
            columns.maximum(column).node,
        ]
        let expected = Result { try reference.answer(grouped, nodes).map { Array($0.dropFirst()) } }
        let found = Result {
            try context.groups(grouped) {
                (
                    $0.count, $0.count { _ in condition }, $0.count(distinct: column), $0.sum(column),
                    $0.average(column),
                    $0.minimum(column), $0.maximum(column)
                )
            }.map { group -> [StoredValue] in
                let (count, some, distinct, sum, average, minimum, maximum) = group.values
                return [
                    count.storedValue, some.storedValue, distinct.storedValue, try sum.storedValue,
                    try average?.storedValue ?? .null, try minimum?.storedValue ?? .null,
                    try maximum?.storedValue ?? .null,
                ]
            }
        }
        switch (expected, found) {
        case (.success(let expected), .success(let found)):
            let isSame =
                expected.count == found.count
                && zip(expected, found).allSatisfy { zip($0, $1).allSatisfy { $0.isSame(as: $1) } }
            if !isSame { run.fail("groups: expected \(expected), found \(found)\n\(reference.text(query, .objects))") }
        case (_, .failure(let error)):
            // A sum may be too large for its type. The plain database does not know the type.
            if (error as? StrataError)?.code != .invalidQuery { run.fail("groups: \(error)") }
        case (.failure(let error), .success): run.fail("groups: expected \(error)")
        }
    }

    /// Prefetched relationships must equal the relationships in the store.
    func checkPrefetched<Member: Model>(
        _ relationship: (Object.Columns) -> RelationshipExpression<Object, Member>,
        _ members: (Object) -> Many<Member>
    ) {
        run.cases += 1
        do {
            for object in try context.fetch(query.including(relationship)) {
                let many = members(object)
                let (found, expected) = (try many.fetch().map(\.id), try context.ids(many.query))
                if found != expected { run.fail("\(object.id) was read ahead with \(found), not \(expected)") }
            }
        } catch {
            if (try? reference.answer(query, .objects)) != nil { run.fail("prefetching: \(error)") }
        }
    }
}

extension StockRun {
    func askMore(_ answers: StockAnswers<StockItem>) {
        switch generator.below(12) {
        case 0: answers.checkSections(\.flavor)
        case 1: answers.checkSections(\.shelf.title)
        case 2: answers.checkSections { $0.price }
        case 3: answers.checkSections(\.shelf)
        case 4: answers.checkGroups(\.flavor, \.rank, itemCondition(1))
        case 5: answers.checkGroups(\.shelf, \.price, itemCondition(1))
        case 6: answers.checkGroups(\.note, \.extra, itemCondition(1))
        case 7: answers.checkGroups(\.shelf.house.name, \.ratio, itemCondition(1))
        case 8: answers.checkGroups(\.cost, \.small, itemCondition(1))
        case 9, 10: answers.checkPrefetched(\.tags) { $0.tags }
        default:
            let ids = try? answers.context.values(Int64.self, "SELECT id FROM \(StockItem.self) AS a ORDER BY id")
            let expected = try? answers.reference.answer(StockItem.all, .ids).map { $0[0] }
            if ids.map({ $0.map(StoredValue.integer) }) != expected {
                fail("the ids by hand are not \(expected ?? [])")
            }
        }
    }
}
