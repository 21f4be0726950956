public import Foundation

/// What a store of an earlier version needs beyond what Strata does by itself when it is opened.
///
/// By itself it adds models, attributes and relationships, indexes and unique constraints, and converts what loses nothing.
/// Names that have changed are given by `originalName:` in the models. What is left is written here: what is to be dropped,
/// how columns are filled, and steps of your own.
///
/// ```swift
/// let migration = Migration()
///     .dropping("Article.subtitle")
///     .filling("Article.slug", with: "lower(replace(title, ' ', '-'))")
///     .step("views of drafts") { database in
///         try database.execute("UPDATE Article SET views = 0 WHERE publishedAt IS NULL")
///     }
/// let stack = try await ContextStack.open(.sqlite(url), models: models, migration: migration)
/// ```
///
/// It stays in the program for as long as there are stores of earlier versions: what a store does not need is not done.
/// Everything is done in one transaction. See the guide "Migrations".
public struct Migration: Sendable {
    struct Step: Sendable {
        let name: String
        let before: (@Sendable (MigrationDatabase) throws -> Void)?
        let after: (@Sendable (MigrationDatabase) throws -> Void)?
        /// Whether only the name is left of it.
        var isRetired = false
    }

    /// The version of the models.
    let version: Int64
    private(set) var backup = Backup.beside(keeping: 2)
    private(set) var waitLimit: TimeInterval = 600
    private(set) var drops: Set<String> = []
    private(set) var fills: [String: String] = [:]
    private(set) var steps: [Step] = []
    private(set) var progress: (@Sendable (MigrationProgress) -> Void)?

    /// A migration that does what Strata does by itself.
    ///
    /// - Parameter version: a number of yours that grows with the models. A store that was opened with a greater one is
    ///   refused by programs with a smaller one. Without it, a store is newer if it has seen steps that are not listed.
    public init(version: Int = 0) { self.version = Int64(version) }

    /// Lets a model with its objects, an attribute or a relationship go: `"Draft"`, `"Article.subtitle"`,
    /// `"Article.tags"`, each by its name before or after a renaming of its model.
    ///
    /// Where the type of an attribute has changed, its values go and the attribute begins anew.
    public func dropping(_ names: String...) -> Migration {
        var result = self
        result.drops.formUnion(names)
        return result
    }

    /// Says where the values of a new attribute, or of one whose type has changed or which is no longer optional, come from.
    ///
    /// - Parameters:
    ///   - name: the attribute as it is called now: `"Article.slug"`.
    ///   - expression: an expression of SQL over the old row, tables and columns under their old names. What it gives must
    ///     be as the attribute's type is stored; if it is not for any row, the store is refused and stays as it is.
    public func filling(_ name: String, with expression: String) -> Migration {
        var result = self
        result.fills[name] = expression
        return result
    }

    /// Adds a step, which is run once for each store that was made without it.
    ///
    /// Of all steps that a store has not seen, first those parts run that are to run before, in the order of the steps; then
    /// the tables are changed, and then the parts that are to run after. Steps may change rows, not Strata's tables, and
    /// keep what they need in temporary tables. What a step throws is thrown by `open`, and the store is as it was.
    ///
    /// - Parameters:
    ///   - name: under which the store remembers it. It must not change and is used once.
    ///   - before: is given the tables as they were. Of which version they are depends on the store.
    ///   - after: is given the tables of the models. Unique constraints that are new do not hold yet. Nil for a step that
    ///     runs before only.
    public func step(
        _ name: String,
        before: (@Sendable (MigrationDatabase) throws -> Void)? = nil,
        after: (@Sendable (MigrationDatabase) throws -> Void)?
    ) -> Migration {
        var result = self
        result.steps.append(Step(name: name, before: before, after: after))
        return result
    }

    /// Names steps that were here once, and whose bodies are gone because no store is expected to need them any more.
    ///
    /// A store that has seen them is opened as before. One that has not is refused with `schemaMismatch` and stays as it is: a version
    /// of the program that still has the steps must open it first. The names stay, since stores remember them.
    public func retired(_ names: String...) -> Migration {
        var result = self
        result.steps += names.map { Step(name: $0, before: nil, after: nil, isRetired: true) }
        return result
    }

    /// Says where a copy of the store goes before tables are copied or dropped, or steps are run. By default two are kept
    /// beside the store.
    public func backup(_ backup: Backup) -> Migration {
        var result = self
        result.backup = backup
        return result
    }

    /// Says how long to wait, in seconds, while another process writes, or migrates the same store. After that `busy` is
    /// thrown. By default ten minutes: a migration may take long, and the store is of no use before.
    public func waiting(for seconds: TimeInterval) -> Migration {
        var result = self
        result.waitLimit = seconds
        return result
    }

    /// - Throws: ``StrataError`` with `invalidSchema` where two steps have one name.
    func check() throws {
        var names: Set<String> = []
        guard let name = steps.map(\.name).first(where: { !names.insert($0).inserted }) else { return }
        throw StrataError(
            .invalidSchema,
            "The migration has two steps by the name of '\(name)'. Name each of them once."
        )
    }

    /// Calls this while a store is migrated, on the thread that does it, a few times a second.
    public func onProgress(_ report: @escaping @Sendable (MigrationProgress) -> Void) -> Migration {
        var result = self
        result.progress = report
        return result
    }
}

/// How far a migration has come.
public struct MigrationProgress: Sendable, Hashable {
    /// From 0 to 1, by estimated effort. Does not go back.
    public let fraction: Double
    /// What is being done: `Copying Article`.
    public let activity: String
}
