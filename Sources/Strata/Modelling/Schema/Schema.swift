import Foundation

/// The models of a stack, with their relationships resolved.
///
/// A partial schema also contains entities of unopened models: the models that relationships of the opened models lead
/// to, in the program's declaration. They resolve these relationships. The stack does not read or write their rows.
final class Schema: Sendable {
    let entities: [any AnyEntity]
    /// Whether the store may contain more models than the stack opens.
    let isPartial: Bool
    /// Whether the stack opens an entity, by index. The members of a relationship are opened with the models of both
    /// ends.
    let isOpened: [Bool]
    let openedEntities: [any AnyEntity]
    /// The delete rules between opened and unopened models.
    let unopenedRules: UnopenedRules
    /// Whether an entity stores bytes outside of its rows, by index.
    let keepsBytes: [Bool]
    /// The to-one columns whose values must be unique, by the index of the entity.
    let oneToOne: [ColumnSet]
    /// The entities that have timestamps.
    let stamped: [any AnyEntity]
    /// The entities whose inserted objects may update existing objects (``UniqueConflict/update``).
    let updating: [Int]
    /// Whether any model has hooks of this kind. If not, the engine skips the search for them.
    let hasSaveHooks, hasDeleteHooks, hasFetchHooks, hasValidations: Bool
    /// The models with a commit hook, and the index of their entity.
    let commitHooks: [(entity: Int, type: any CommitHook.Type)]
    /// The models whose rows each belong to an object of another model.
    let ownedModels: [OwnedModelInfo]
    /// The opened entities by name; below, by table.
    let infosByName: [String: EntityInfo]
    let infosByTable: [String: EntityInfo]
    /// The relationships that members belong to, by the entity of the members.
    let memberships: [Int: [Membership]]
    /// The description of a store of these models.
    let description: SchemaDescription
    /// The same description as text.
    let text: String
    private let models: [any Model.Type]
    private let indexes: [ObjectIdentifier: Int]

    /// - Parameters:
    ///   - opened: the models that the stack opens.
    ///   - isPartial: whether the store may contain other models. Otherwise, the destinations of all relationships must
    ///     be among the opened models.
    /// - Throws: ``StrataError`` with `invalidSchema`, naming both sides of a mismatch.
    convenience init(_ opened: [any Model.Type], isPartial: Bool = false) throws {
        // The opened models come first, so that their indexes are the same as without unopened models.
        let models = isPartial ? Schema.models(reachableFrom: opened) : opened
        var builder = try SchemaBuilder(models)
        try builder.resolve()
        let isOpened = builder.opens(first: opened.count)
        let rules = isPartial ? builder.removeRulesOfUnopened(isOpened) : UnopenedRules()
        self.init(
            builder.makeEntities(),
            isOpened: isOpened,
            isPartial: isPartial,
            rules,
            models: models,
            opened: opened
        )
        try SchemaBuilder.checkNames(of: description)
    }

    /// A schema of entities whose models the program does not have, all of them opened.
    convenience init(recorded entities: [any AnyEntity]) {
        self.init(
            entities,
            isOpened: entities.map { _ in true },
            isPartial: false,
            UnopenedRules(),
            models: [],
            opened: []
        )
    }

    private init(
        _ entities: [any AnyEntity],
        isOpened: [Bool],
        isPartial: Bool,
        _ unopenedRules: UnopenedRules,
        models: [any Model.Type],
        opened: [any Model.Type]
    ) {
        self.entities = entities
        self.isPartial = isPartial
        self.isOpened = isOpened
        self.unopenedRules = unopenedRules
        openedEntities = entities.filter { isOpened[$0.info.index] }
        keepsBytes = entities.map { !$0.info.externals.isEmpty }
        oneToOne = entities.map(\.info.oneToOne)
        stamped = entities.filter(\.info.isStamped)
        let hooks = entities.map(\.info.hooks)
        updating = entities.map(\.info).filter { !$0.updating.isEmpty }.map(\.index)
        hasSaveHooks = hooks.contains(where: \.runBeforeSave)
        hasDeleteHooks = hooks.contains { $0.willDelete.run != nil }
        hasFetchHooks = hooks.contains { $0.didFetch.run != nil }
        hasValidations = hooks.contains(where: \.validateBeforeSave)
        self.models = models
        commitHooks = opened.enumerated().compactMap { index, model in
            (model as? any CommitHook.Type).map { (index, $0) }
        }
        ownedModels = zip(opened, entities).enumerated().compactMap { index, model in
            OwnedModelInfo(model.0, index, among: opened, model.1.info)
        }
        memberships = Self.memberships(of: entities.map(\.info))
        let infos = openedEntities.map(\.info)
        infosByName = Dictionary(infos.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        infosByTable = Dictionary(infos.map { ($0.table, $0) }, uniquingKeysWith: { first, _ in first })
        description = SchemaDescription(entities.map(\.info)) { isOpened[$0.index] }
        text = description.description
        indexes = Dictionary(
            opened.enumerated().map { (ObjectIdentifier($0.element), $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// A relationship whose members are rows of a separate entity.
    struct Membership {
        /// The column of the member rows that holds the relationship's owner.
        let side: Int
        /// The owner's table.
        let table: String
        let relationship: String
    }

    private static func memberships(of infos: [EntityInfo]) -> [Int: [Membership]] {
        var result: [Int: [Membership]] = [:]
        for info in infos {
            for relationship in info.relationships {
                let (entity, side): (Int?, Int) =
                    switch relationship.storage {
                    case .join(let entity, let own, _, _): (entity, own)
                    case .foreignKey(_, let order): (order, JoinRow.Column.left)
                    }
                guard let entity else { continue }
                let membership = Membership(side: side, table: info.table, relationship: relationship.name)
                result[entity, default: []].append(membership)
            }
        }
        return result
    }

    /// - Throws: ``StrataError`` with `unknownModel`.
    func index(of model: any Model.Type) throws -> Int {
        guard let index = indexes[ObjectIdentifier(model)] else { throw Self.unknown(model) }
        return index
    }

    func entity<Object: Model>(_ model: Object.Type) throws -> Entity<Object.Row> {
        entities[try index(of: model)].typed(Object.Row.self)
    }

    /// - Throws: ``StrataError`` with `unknownModel` if the stack does not open the destination of a relationship.
    @inline(__always)
    func checkOpened(_ destination: Int) throws {
        if isPartial, !isOpened[destination], let unopened = model(destination) { throw Self.unknown(unopened) }
    }

    /// The model of an entity; nil for the members of to-many relationships.
    func model(_ entity: Int) -> (any Model.Type)? { entity < models.count ? models[entity] : nil }

    /// The lists of the models of engines, by their modules. The models of a list are always opened together.
    private static let engineLists = ["StrataPipeline": "Pipeline.models", "StrataCloud": "CloudAccount.models"]

    private static func module(of model: any Model.Type) -> String {
        String(String(reflecting: model).prefix { $0 != "." })
    }

    /// Whether a model belongs to an engine, whose code alone writes its rows.
    static func isOfEngine(_ model: any Model.Type) -> Bool { engineLists[module(of: model)] != nil }

    static func unknown(_ model: any Model.Type) -> StrataError {
        let list = engineLists[module(of: model)]
        return StrataError(
            .unknownModel,
            "\(model) is not a model of this stack. "
                + (list.map { "Open the stack with `models: [...] + \($0)`." }
                    ?? "Name it in ContextStack.open(_:models:).")
        )
    }

    /// These models, and all models that can be reached through relationships.
    static func models(reachableFrom models: [any Model.Type]) -> [any Model.Type] {
        var found = models
        var known = Set(models.map { ObjectIdentifier($0) })
        var next = 0
        while next < found.count {
            let schema = found[next]._$schema
            next += 1
            for reference in schema.columns.compactMap(\.destination) + schema.relationships.map(\.destination)
            where known.insert(ObjectIdentifier(reference.type)).inserted {
                found.append(reference.type)
            }
        }
        return found
    }
}

/// An entity with the type of its rows.
final class Entity<Row: StoredRow>: AnyEntity {
    let info: EntityInfo
    /// Checks a row against the declarations of the columns that were set (nil for all) and the model's own rules.
    let check: Check

    typealias Check = @Sendable (UnsafePointer<Row>, _ edited: ColumnSet?) -> [StrataError.Detail]

    init(info: EntityInfo, check: @escaping Check) {
        self.info = info
        self.check = check
    }
}

/// An ``Entity`` with any type of rows.
protocol AnyEntity: AnyObject, Sendable {
    var info: EntityInfo { get }
    func readChanged(
        _ parts: [any AnyRowChanges],
        since sequence: Int64,
        among known: IDRanges?,
        on connection: Connection
    ) throws -> (any AnyRowChanges)?

    // Saving
    func noOpChanges(in level: [ChangeSegment], fixed: Set<Int>) -> NoOpChanges?
    func validate(_ parts: [any AnyRowChanges], _ failures: inout [StrataError.Detail])
    func stamps(_ parts: [any AnyRowChanges], layers: LayerSnapshot, context: Int, now: Date) -> (any AnyRowChanges)?
    func resolveConflicts(
        _ layers: LayerSnapshot,
        context: Int,
        from first: Int,
        _ policy: MergePolicy,
        _ conflicts: inout [StrataError.Detail]
    ) -> (any LayerEdits)?
    func findDuplicates(
        _ layers: LayerSnapshot,
        path: [Int],
        from first: Int,
        _ connection: Connection,
        _ found: inout [StrataError.Detail]
    ) throws

    func findDangling(
        in level: [ChangeSegment],
        _ schema: Schema,
        isThere: (_ entity: Int, _ number: Int64) throws -> Bool,
        _ found: inout [StrataError.Detail]
    ) throws

    // Rolling back
    func keepBytes(of part: any AnyRowChanges, _ connection: Connection) throws
    func hasOnlyEmptied(_ column: Int, of number: Int64, from target: Int64, in layers: LayerSnapshot, context: Int)
        -> Bool

    // Committing
    func addPart(to job: CommitJob)

    // Migration
    func writeDerived(on connection: Connection, _ report: (_ rows: Int) throws -> Void) throws

    // Batches
    func runBatch(_ sql: String, _ values: [StoredValue], edited: ColumnSet, _ job: BatchJob) throws -> IDRanges
    func insertRow(_ values: [StoredValue], _ job: BatchJob) throws
    func updateRow(
        _ number: Int64,
        _ job: BatchJob,
        _ value: (_ column: Int, _ old: StoredValue) throws -> StoredValue
    ) throws -> ColumnSet

    // History
    func changes(of part: any AnyRowChanges) -> TableChanges
}

extension AnyEntity {
    /// The entity with its row type. The cast is safe because the index of an entity determines the type of its rows.
    func typed<Row: StoredRow>(_ type: Row.Type) -> Entity<Row> { unsafeDowncast(self, to: Entity<Row>.self) }
}
