import Foundation
import Testing

@testable import Strata

/// A context and a plain database, asked the same.
struct StockAnswers<Object: StockModel> {
    let run: StockRun
    let context: ObjectContext
    let reference: StockReference
    let query: Query<Object>

    /// Compares one answer; errors must come from both or from none.
    private func compare(_ shape: ResultShape, _ name: String, _ answer: () throws -> [[StoredValue]]) {
        run.cases += 1
        let expected = Result { try reference.answer(query, shape) }
        let found = Result { try answer() }
        switch (expected, found) {
        case (.failure, .failure): return
        case (.success(let expected), .success(let found)):
            let isSame =
                expected.count == found.count
                && zip(expected, found).allSatisfy { left, right in
                    left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
                }
            if isSame { return }
        default: break
        }
        run.fail(
            """
            \(name) of \(Object.self) in context \(context.id)
            expected \(Self.text(expected))
            found    \(Self.text(found))
            \(reference.text(query, shape))
            """
        )
    }

    private static func text(_ result: Result<[[StoredValue]], any Error>) -> String {
        switch result {
        case .success(let rows): "\(rows.count) rows:\n" + rows.map { "  \($0)" }.joined(separator: "\n")
        case .failure(let error): "\(error)"
        }
    }

    private func values(_ row: Object.Row) throws -> [StoredValue] {
        try [.integer(row._$number)] + Object._$schema.columns.indices.map { try row._$value(at: $0) }
    }

    /// The rows of objects, which must be those that live in the context already.
    private func values(_ objects: [Object]) throws -> [[StoredValue]] {
        try objects.map { object in
            if try context.find(object.id) !== object { run.fail("a second object of \(object.id)") }
            if object.isDeleted { run.fail("\(object.id) was fetched and is deleted") }
            return try values(object._$row)
        }
    }

    func checkObjects() {
        compare(.objects, "fetch") { try values(context.fetch(query)) }
    }

    /// One of the shapes that concern objects.
    func checkShape(_ shape: Int, count: Int) {
        switch shape {
        case 0: checkObjects()
        case 1: compare(.ids, "ids") { try context.ids(query).map { [.integer($0.number)] } }
        case 2: compare(.objects, "rows") { try context.rows(query).map { try values($0) } }
        case 3: compare(.count, "count") { [[.integer(Int64(try context.count(query)))]] }
        case 4: compare(.exists, "exists") { [[.integer(try context.exists(query) ? 1 : 0)]] }
        case 5: compare(.first(1), "first") { try values([context.first(query)].compactMap { $0 }) }
        case 6: compare(.first(count), "first \(count)") { try values(context.first(count, of: query)) }
        case 7: compare(.objects, "cursor") { try walked() }
        case 8:
            compare(.objects, "row cursor") {
                var rows: [[StoredValue]] = []
                try context.forEachRow(query) { rows.append(try values($0)) }
                return rows
            }
        case 9: compare(.last(1), "last") { try values([context.last(query)].compactMap { $0 }) }
        default: compare(.last(count), "last \(count)") { try values(context.last(count, of: query)) }
        }
    }

    /// What a cursor gives while others run, one of them over the same query.
    private func walked() throws -> [[StoredValue]] {
        var found: [Object] = []
        let other = try context.cursor(query)
        try context.forEach(query) { object in
            if try other.next() !== object { run.fail("two cursors of one query differ at \(object.id)") }
            found.append(object)
        }
        return try values(found)
    }

    func checkSections<Key: GroupKey>(_ key: (Object.Columns) -> Key) where Key.Root == Object {
        let node = key(Object.columns)._$key.node
        let expected = ResultShape.sections(node)
        compare(expected, "sections") {
            // The key is compared by way of the rows that come together.
            let keys = try reference.answer(query, expected).map { $0[$0.count - 1] }
            let sections = try context.sections(query, by: key)
            if sections.contains(where: \.elements.isEmpty) { run.fail("an empty section") }
            let rows = try values(sections.flatMap(\.elements))
            let starts = Set(sections.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.elements.count) })
            for index in rows.indices where index > 0 && starts.contains(index) == keys[index].isSame(as: keys[index - 1]) {
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
                    $0.count, $0.count { _ in condition }, $0.count(distinct: column), $0.sum(column), $0.average(column),
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
            // A sum may be too large for its type, which the plain database knows nothing of.
            if (error as? StrataError)?.code != .invalidQuery { run.fail("groups: \(error)") }
        case (.failure(let error), .success): run.fail("groups: expected \(error)")
        }
    }

    /// Relationships that were read ahead are what the store says they are.
    func checkPrefetched<Member: Model>(
        _ relationship: (Object.Columns) -> ToMany<Object, Member>,
        _ members: (Object) -> Many<Member>
    ) {
        run.cases += 1
        do {
            for object in try context.fetch(query.with(relationship)) {
                let many = members(object)
                let (found, expected) = (try many.fetch().map(\.id), try context.ids(many.query))
                if found != expected { run.fail("\(object.id) was read ahead with \(found), not \(expected)") }
            }
        } catch {
            if (try? reference.answer(query, .objects)) != nil { run.fail("prefetching: \(error)") }
        }
    }

    // MARK: Columns

    func checkColumn<Value: AttributeValue>(_ column: KeyPath<Object.Columns, Column<Object, Value>>) {
        compare(.values(Object.columns[keyPath: column].node), "column") {
            try context.column(query, column).map { [try $0.storedValue] }
        }
    }

    func checkColumn<Value: AttributeValue>(_ column: KeyPath<Object.Columns, Column<Object, Value?>>) {
        compare(.values(Object.columns[keyPath: column].node), "optional column") {
            try context.column(query, column).map { [try $0?.storedValue ?? .null] }
        }
    }

    func checkRange<Value: ColumnValue>(_ column: KeyPath<Object.Columns, Column<Object, Value>>)
    where Value.Unwrapped: OrderedAttributeValue {
        let node = Object.columns[keyPath: column].node
        compare(.aggregate(.minimum, node), "minimum") {
            [[try context.minimum(query, column)?.storedValue ?? .null]]
        }
        compare(.aggregate(.maximum, node), "maximum") {
            [[try context.maximum(query, column)?.storedValue ?? .null]]
        }
    }

    func checkTotals<Value: ColumnValue>(_ column: KeyPath<Object.Columns, Column<Object, Value>>)
    where Value.Unwrapped: NumericAttributeValue {
        let node = Object.columns[keyPath: column].node
        compare(.aggregate(.average, node), "average") {
            [[try context.average(query, column)?.storedValue ?? .null]]
        }
        checkRange(column)
        run.cases += 1
        let shape = ResultShape.aggregate(.sum, node)
        // Nothing adds up to zero, and what does not fit into the type is thrown.
        let expected = (try? reference.value(query, shape)).flatMap {
            $0 == .null ? .zero : Value.Unwrapped.Sum(storedValue: $0)
        }
        let found = try? context.sum(query, column)
        if expected != found {
            let (left, right) = ("\(String(describing: expected))", "\(String(describing: found))")
            run.fail("sum: expected \(left), found \(right)\n\(reference.text(query, shape))")
        }
    }
}

extension StockRun {
    /// Random questions about one of the models.
    func ask(_ context: ObjectContext, _ reference: StockReference) {
        switch generator.below(8) {
        case 0:
            ask(
                context,
                reference,
                StockShelf.where { _ in self.shelfCondition(2) },
                [StockShelf.columns.title.ascending]
            )
        case 1:
            ask(
                context,
                reference,
                StockHouse.where { _ in self.houseCondition(2) },
                [StockHouse.columns.name.descending]
            )
        case 2:
            ask(
                context,
                reference,
                StockLid.where { _ in self.lidCondition(2) },
                [StockLid.columns.item.rank.ascending]
            )
        case 3:
            ask(
                context,
                reference,
                StockTag.where { _ in self.tagCondition(2) },
                [StockTag.columns.name.ascending.nilsLast]
            )
        default: askItems(context, reference)
        }
    }

    private func sliced<Object: Model>(_ query: Query<Object>, _ keys: [SortKey<Object>]) -> Query<Object> {
        var query = query
        for _ in 0..<generator.below(3) { query = query.sorted { _ in self.pick(keys) } }
        if generator.chance(4) { query = query.limit(generator.below(6)) }
        if generator.chance(5) { query = query.offset(generator.below(4)) }
        return query
    }

    private func ask<Object: StockModel>(
        _ context: ObjectContext,
        _ reference: StockReference,
        _ query: Query<Object>,
        _ keys: [SortKey<Object>]
    ) {
        let query = sliced(query, keys)
        let answers = StockAnswers(run: self, context: context, reference: reference, query: query)
        for _ in 0..<3 { answers.checkShape(generator.below(11), count: generator.below(5)) }
    }

    private func askItems(_ context: ObjectContext, _ reference: StockReference) {
        let item = StockItem.columns
        let keys = [
            item.name.ascending, item.name.descending(.caseInsensitive), item.note.ascending.nilsLast,
            item.note.ascending([.caseInsensitive, .diacriticInsensitive]), item.rank.descending, item.size.ascending,
            item.price.ascending, item.cost.descending, item.total.ascending, item.extra.descending.nilsFirst,
            item.madeAt.descending, item.key.ascending, item.id.descending, item.shelf.floor.ascending,
            item.shelf.house.name.descending, item.tags.count.descending, item.isDone.ascending, item.ratio.ascending,
            item.lid.color.ascending, (item.rank * 2).ascending,
        ]
        // One in three is about all of them: sorts and aggregates have more to do then.
        let all = StockItem.all
        let query = sliced(generator.chance(3) ? all : all.where { _ in self.itemCondition(3) }, keys)
        let answers = StockAnswers(run: self, context: context, reference: reference, query: query)
        for _ in 0..<2 { answers.checkShape(generator.below(11), count: generator.below(5)) }
        askMore(answers)
        askColumns(
            StockAnswers(
                run: self,
                context: context,
                reference: reference,
                query: generator.chance(3) ? query.distinct() : query
            )
        )
    }

    private func askMore(_ answers: StockAnswers<StockItem>) {
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
            if ids.map({ $0.map(StoredValue.integer) }) != expected { fail("the ids by hand are not \(expected ?? [])") }
        }
    }

    private func askColumns(_ answers: StockAnswers<StockItem>) {
        switch generator.below(20) {
        case 0: answers.checkTotals(\.rank)
        case 1: answers.checkTotals(\.size)
        case 2: answers.checkTotals(\.small)
        case 3: answers.checkTotals(\.weight)
        case 4: answers.checkTotals(\.ratio)
        case 5: answers.checkTotals(\.cost)
        case 6: answers.checkTotals(\.price)
        case 7: answers.checkTotals(\.total)
        case 8: answers.checkTotals(\.extra)
        case 9: answers.checkRange(\.name)
        case 10: answers.checkRange(\.madeAt)
        case 11: answers.checkRange(\.key)
        case 12: answers.checkColumn(\.name)
        case 13: answers.checkColumn(\.note)
        case 14: answers.checkColumn(\.price)
        case 15: answers.checkColumn(\.extra)
        case 16: answers.checkColumn(\.spot)
        case 17: answers.checkColumn(\.thumb)
        case 18: answers.checkColumn(\.mood)
        default: answers.checkColumn(\.isDone)
        }
    }
}
