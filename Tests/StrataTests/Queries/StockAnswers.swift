import Foundation
import Testing

@testable import Strata

/// A context and a plain database that answer the same queries.
struct StockAnswers<Object: StockModel> {
    let run: StockRun
    let context: ObjectContext
    let reference: StockReference
    let query: Query<Object>

    /// Compares one answer. Errors must come from both or from neither.
    func compare(_ shape: ResultShape, _ name: String, _ answer: () throws -> [[StoredValue]]) {
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

    func values(_ row: Object.Row) throws -> [StoredValue] {
        try [.integer(row._$id)] + Object._$schema.columns.indices.map { try row._$value(at: $0) }
    }

    /// The rows of objects. Each object must be the context's own instance.
    func values(_ objects: [Object]) throws -> [[StoredValue]] {
        try objects.map { object in
            if try context.find(object.id) !== object { run.fail("a second object of \(object.id)") }
            if object.isDeleted { run.fail("\(object.id) was fetched and is deleted") }
            return try values(object._$row)
        }
    }

    func checkObjects() {
        compare(.objects, "fetch") { try values(context.fetch(query)) }
    }

    /// One of the result shapes that concern objects.
    func checkShape(_ shape: Int, count: Int) {
        switch shape {
        case 0: checkObjects()
        case 1: compare(.ids, "ids") { try context.ids(query).map { [.integer($0.rawValue)] } }
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
        // The sum of no values is zero. A sum that does not fit into the type is thrown as an error.
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
        // One in three is about all objects, so that sorts and aggregates have more to do.
        let all = StockItem.all
        let query = sliced(generator.chance(3) ? all : all.where { _ in self.itemCondition(3) }, keys)
        let answers = StockAnswers(run: self, context: context, reference: reference, query: query)
        for _ in 0..<2 { answers.checkShape(generator.below(11), count: generator.below(5)) }
        askMore(answers)
        // Without a random number, so that the other answers of a seed stay the same.
        if cases % 8 == 0 { answers.checkPages(size: 1 + cases / 8 % 9) }
        askColumns(
            StockAnswers(
                run: self,
                context: context,
                reference: reference,
                query: generator.chance(3) ? query.distinct() : query
            )
        )
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
