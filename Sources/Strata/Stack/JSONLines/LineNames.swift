/// The names that the lines of an import use for objects, each with the id of its object. Used by one thread.
///
/// The names are in a temporary table on disk: see ``LinesSQL``. The two statements that run for each line or reference
/// are kept, so that no line looks them up by their texts.
final class LineNames {
    /// The object of a name.
    struct Entry {
        let id: Int64
        /// Whether the object has been inserted, or was in the store before the import.
        let isThere: Bool
        /// The line of the object or the first line that requires it; nil if neither has been read.
        let line: Int64?
    }

    /// A property of a line that refers to an object.
    struct Place {
        let line: Int64
        /// The property with its model, such as `Article.author`.
        let property: String
    }

    private let job: BatchJob
    private let findName: Statement
    private let insertName: Statement
    /// An id that was taken for a new name and not used, because the name was known.
    private var unusedID: Int64?

    init(_ job: BatchJob) throws {
        self.job = job
        try job.connection.execute(LinesSQL.create)
        findName = try job.connection.statement(LinesSQL.find)
        insertName = try job.connection.statement(LinesSQL.insert)
    }

    /// The object of a name; nil if neither a line nor a reference has used the name.
    ///
    /// - Complexity: O(log names).
    func find(_ name: String, of info: EntityInfo) throws -> Entry? {
        // The connection's cache keeps the statement. Its copy of the name is released even if SQLite refuses the name.
        defer { findName.reset() }
        let binder = findName.binder
        try binder.bind(info.index, at: 1)
        try binder.bind(name, at: 2)
        guard try findName.step() else { return nil }
        let row = findName.reader
        return Entry(
            id: try row.read(Int64.self, at: 0),
            isThere: try row.read(Bool.self, at: 1),
            line: try row.read(Int64?.self, at: 2)
        )
    }

    /// Records that a line contains the object of a name. Returns the id of the object.
    ///
    /// - Parameter key: the name; nil if the line does not name its object.
    /// - Throws: ``LineFailure`` if another line has the name.
    func define(_ key: String?, of info: EntityInfo, line: Int64) throws -> Int64 {
        // Most names are new, so this does not look for the name first.
        let id = try takeID()
        if try insert(key, Entry(id: id, isThere: true, line: line), of: info) { return id }
        unusedID = id
        guard let name = key, let found = try find(name, of: info), !found.isThere else {
            throw try usedTwice(key ?? "", of: info)
        }
        try job.connection.execute(LinesSQL.define, [.integer(line), .integer(Int64(info.index)), .text(name)])
        return found.id
    }

    /// Records the name of a line that will be imported later.
    ///
    /// - Parameter holder: the object of the store that the line updates; nil if the line creates an object.
    /// - Throws: ``LineFailure`` if another line has the name.
    func announce(_ name: String, of info: EntityInfo, line: Int64, holder: Int64?) throws {
        let entry = Entry(id: try holder ?? takeID(), isThere: holder != nil, line: line)
        guard try insert(name, entry, of: info) else { throw try usedTwice(name, of: info) }
    }

    /// Records a reference to a name that is not known yet. Returns the id that the object will have if a line defines
    /// it.
    ///
    /// - Parameters:
    ///   - place: the reference that requires the object; nil if the object may be missing.
    ///   - number: the id of an object of this store that the name may stand for.
    func mention(_ name: String, of info: EntityInfo, at place: Place?, number: Int64?) throws -> Int64 {
        let id = try takeID()
        let entry = Entry(id: id, isThere: false, line: place?.line)
        _ = try insert(name, entry, of: info, property: place?.property, number: number)
        return id
    }

    /// Records the first reference that requires the object of a known name.
    func require(_ name: String, of info: EntityInfo, at place: Place) throws {
        try job.connection.execute(
            LinesSQL.require,
            [.integer(place.line), .text(place.property), .integer(Int64(info.index)), .text(name)]
        )
    }

    /// Inserts a name. Returns false if the name is known; its entry then stays unchanged.
    private func insert(
        _ name: String?,
        _ entry: Entry,
        of info: EntityInfo,
        property: String? = nil,
        number: Int64? = nil
    ) throws -> Bool {
        // As in `find`.
        defer { insertName.reset() }
        let binder = insertName.binder
        try binder.bind(info.index, at: 1)
        if let name { try binder.bind(name, at: 2) } else { try binder.bind(entry.id, at: 2) }
        try binder.bind(entry.id, at: 3)
        try binder.bind(entry.line, at: 4)
        try binder.bind(entry.isThere, at: 5)
        try binder.bind(property, at: 6)
        try binder.bind(number, at: 7)
        return try insertName.runBound() == 1
    }

    private func takeID() throws -> Int64 {
        if let id = unusedID {
            unusedID = nil
            return id
        }
        return try job.takeID()
    }

    private func usedTwice(_ name: String, of info: EntityInfo) throws -> LineFailure {
        let line = try find(name, of: info)?.line
        return LineFailure(info.name, "$id", "'\(name)' is already used in line \(line ?? 0)")
    }
}
