import Testing

@testable import Strata

/// One run of random edits and queries over a separate stack.
///
/// `@unchecked Sendable`: the run goes from block to block, and each block is awaited before the next one begins.
final class StockRun: @unchecked Sendable {
    let seed: UInt64
    var generator: SeededGenerator
    var stateModel = StockStateModel()
    /// Failures after the first one are mostly its consequences, so they are not reported.
    private var failures = 0
    /// The number of compared answers.
    var cases = 0
    /// All rows that have ever existed.
    var numbers: [Int64] { entities.keys.sorted() }
    /// The model of each row.
    var entities: [Int64: Int] = [:]
    var fingerprint: UInt16 = 0
    /// The actions so far, for the report of a failure.
    var log: [String] = []

    init(seed: UInt64) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
    }

    /// Records a failure, with the command that reproduces it.
    func fail(_ text: String) {
        failures += 1
        guard failures == 1 else { return }
        Issue.record(
            """
            \(text)
            STRATA_QUERY_SEED=\(seed) swift test --filter RandomQuery
            \(log.suffix(200).joined(separator: "\n"))
            """
        )
    }

    // MARK: Edits

    /// One random edit, made in a context and in the model.
    func edit(_ context: ObjectContext, at level: Int) throws {
        switch generator.below(20) {
        case 0...3: try insert(generator.below(5), context, level)
        case 4...9: try changeAny(context, level)
        case 10: try deleteAny(context, level)
        case 11, 12: try setReference(context, level)
        case 13: try setLid(context, level)
        case 14, 15: try changeTags(context, level)
        case 16: try moveTag(context, level)
        case 17, 18: try changeShelves(context, level)
        default: try moveShelf(context, level)
        }
    }

    private func insert(_ entity: Int, _ context: ObjectContext, _ level: Int) throws {
        func open<Object: StockModel>(_ model: Object.Type) throws {
            let object = Object.make()
            var values = try Object._$schema.columns.indices.map { try object._$row._$value(at: $0) }
            // Half of the values are set before the object is inserted, half after.
            let fields = Object.fields.filter { _ in generator.below(3) > 0 }
            let isEarly = generator.chance(2)
            if !isEarly { context.insert(object) }
            for field in fields {
                let (value, set) = try field.pick(&generator)
                set(object)
                values[field.column] = value
            }
            if isEarly { context.insert(object) }
            let number = object.id.rawValue
            note(level, "insert \(Object.self) \(number)")
            entities[number] = entity
            stateModel.add(.insert(number, StockStateModel.Row(entity: entity, values: values)), at: level)
        }
        switch entity {
        case 0: try open(StockItem.self)
        case 1: try open(StockShelf.self)
        case 2: try open(StockHouse.self)
        case 3: try open(StockLid.self)
        default: try open(StockTag.self)
        }
    }

    private func changeAny(_ context: ObjectContext, _ level: Int) throws {
        let view = stateModel.view(level)
        guard let number = view.rows.keys.sorted().randomElement(using: &generator), let row = view.rows[number] else {
            return
        }
        switch row.entity {
        case 0: try change(StockItem.self, number, row, context, level)
        case 1: try change(StockShelf.self, number, row, context, level)
        case 2: try change(StockHouse.self, number, row, context, level)
        case 3: try change(StockLid.self, number, row, context, level)
        default: try change(StockTag.self, number, row, context, level)
        }
    }

    private func change<Object: StockModel>(
        _ model: Object.Type,
        _ number: Int64,
        _ row: StockStateModel.Row,
        _ context: ObjectContext,
        _ level: Int
    ) throws {
        guard let object = try find(model, number, context) else { return }
        for _ in 0...generator.below(3) {
            let field = Object.fields.randomElement(using: &generator)!
            let (value, set) = try field.pick(&generator)
            set(object)
            note(level, "set \(Object.self) \(number) column \(field.column) to \(value.shown)")
            self.set(number, field.column, value, level)
        }
    }

    /// Setting an equal value does not count as a change.
    func set(_ number: Int64, _ column: Int, _ value: StoredValue, _ level: Int) {
        guard let old = stateModel.view(level).rows[number]?.values[column], !old.isSame(as: value) else { return }
        stateModel.add(.set(number, column, value), at: level)
    }

    func find<Object: Model>(_ model: Object.Type, _ number: Int64, _ context: ObjectContext) throws -> Object? {
        let id = ObjectID<Object>(rawValue: number, fingerprint: context.store.ids.fingerprint)
        let object = try context.find(id)
        if object == nil { fail("\(Object.self) \(number) is not found in context \(context.id)") }
        return object
    }

    func note(_ level: Int, _ text: String) { log.append("\(level): \(text)") }

    func any(_ entity: Int, _ level: Int) -> Int64? {
        stateModel.view(level).numbers(entity).randomElement(using: &generator)
    }
}
