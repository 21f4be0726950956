public import Foundation

/// The parts of a migration that Strata cannot do automatically when it opens a store of an earlier version.
///
/// Strata automatically adds models, attributes, relationships, indexes and unique constraints. It also performs
/// lossless conversions. For changed names, write `originalName:` in the models. Everything else is written here: data
/// to drop, values for columns, and your own steps.
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
/// Keep the migration in the application as long as stores of earlier versions exist. Parts that a store does not need
/// are skipped. The whole migration is one transaction. See the guide "Migrations".
public struct Migration: Sendable {
    struct Step: Sendable {
        let name: String
        let before: (@Sendable (MigrationDatabase) throws -> Void)?
        let after: (@Sendable (MigrationDatabase) throws -> Void)?
        /// Whether the step's bodies have been removed and only its name remains.
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

    /// Creates a migration that consists only of Strata's automatic changes.
    ///
    /// - Parameter version: a number that you increase when the models change. A program with a smaller version refuses
    ///   stores that were opened with a greater one. Without a version, a store counts as newer if it has seen steps
    ///   that are not listed.
    public init(version: Int = 0) { self.version = Int64(version) }

    /// Drops a model with its objects, an attribute, or a relationship: `"Draft"`, `"Article.subtitle"`,
    /// `"Article.tags"`.
    ///
    /// If the model was renamed, each name can use the model's old or new name. If the type of a dropped attribute has
    /// changed, its values are deleted and the new attribute starts without them.
    public func dropping(_ names: String...) -> Migration { changed { $0.drops.formUnion(names) } }

    /// Provides the values of an attribute that is new, has another type, or is no longer optional.
    ///
    /// - Parameters:
    ///   - name: the current name of the attribute: `"Article.slug"`.
    ///   - expression: an SQL expression over the old row, with the old names of tables and columns. Its result must
    ///     have the form in which the attribute's type is stored. If the result for any row does not, the migration
    ///     refuses the store and leaves it unchanged.
    public func filling(_ name: String, with expression: String) -> Migration {
        changed { $0.fills[name] = expression }
    }

    /// Adds a step that runs once for each store that was created without it.
    ///
    /// For all steps that a store has not seen, the `before` parts run first, in the order of the steps. Then the
    /// tables change, and then the `after` parts run. Steps can change rows, but not Strata's tables. They can use
    /// temporary tables. If a step throws an error, `open` throws the error and the store stays unchanged.
    ///
    /// - Parameters:
    ///   - name: the name under which the store remembers the step. The name must be unique and must not change.
    ///   - before: receives the tables before the change. Their version depends on the store.
    ///   - after: receives the tables of the models. New unique constraints do not apply yet. Nil for a step that has
    ///     only a `before` part.
    public func step(
        _ name: String,
        before: (@Sendable (MigrationDatabase) throws -> Void)? = nil,
        after: (@Sendable (MigrationDatabase) throws -> Void)?
    ) -> Migration {
        changed { $0.steps.append(Step(name: name, before: before, after: after)) }
    }

    /// Names former steps whose bodies were removed because no store is expected to need them any more.
    ///
    /// A store that has seen these steps opens as before. A store that has not seen them is refused with
    /// `schemaMismatch` and stays unchanged: a version of the program that still has the steps must open the store
    /// first. The names must stay, because stores remember them.
    public func retired(_ names: String...) -> Migration {
        changed { $0.steps += names.map { Step(name: $0, before: nil, after: nil, isRetired: true) } }
    }

    /// Sets the location of the backup that is made before tables are copied or dropped, or steps run.
    ///
    /// By default, the two newest backups are kept in the store's folder.
    public func backup(_ backup: Backup) -> Migration { changed { $0.backup = backup } }

    /// Sets how long to wait, in seconds, while another process writes to or migrates the same store: 0 or more.
    ///
    /// After this time, opening throws `busy`. The default is ten minutes, because a migration can take long and the
    /// store cannot be used before the migration ends.
    public func waiting(for seconds: TimeInterval) -> Migration { changed { $0.waitLimit = seconds } }

    private func changed(_ change: (inout Migration) -> Void) -> Migration {
        var result = self
        change(&result)
        return result
    }

    /// - Throws: ``StrataError`` with `invalidSchema` if two steps have the same name; `invalidArgument` for a value
    ///   that is out of its bounds.
    func check() throws {
        try StrataError.require(
            waitLimit >= 0,
            "A migration cannot wait for \(waitLimit) seconds. Pass 0 or more to `waiting(for:)`."
        )
        try backup.check()
        var names: Set<String> = []
        guard let name = steps.map(\.name).first(where: { !names.insert($0).inserted }) else { return }
        throw StrataError(
            .invalidSchema,
            "The migration has two steps with the name '\(name)'. Give each step a different name."
        )
    }

    /// Sets a closure that is called after each portion of the migration, on the thread that migrates the store.
    ///
    /// For a store with a home, the closure is called while the working copy is made, after each portion of rows. The
    /// fraction is 0 until the end if the home does not know how many rows it has.
    public func onProgress(_ report: @escaping @Sendable (MigrationProgress) -> Void) -> Migration {
        changed { $0.progress = report }
    }
}

/// The progress of a migration, or of making a working copy.
public struct MigrationProgress: Sendable, Hashable {
    /// The completed fraction of the estimated effort, from 0 to 1. It never decreases.
    public let fraction: Double
    /// The current activity: `Copying Article`.
    public let activity: String
}
