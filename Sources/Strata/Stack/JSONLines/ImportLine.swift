import Foundation

/// A line of an import, decoded according to its model.
struct ImportLine: DecodableWithConfiguration {
    enum Field {
        case missing
        case value(StoredValue)
        /// The line's name for another object.
        case reference(String)
    }

    /// What the import knows about a line before it is decoded.
    struct Hints {
        let models: LineModels
        /// The number of members in the text of the line. Members with the same key are counted separately.
        let memberCount: Int
        /// Whether the text is in UTF-8. In another encoding, `memberCount` can be wrong.
        let isUTF8: Bool
    }

    let info: EntityInfo
    /// The line's name for its object; nil if other lines do not refer to the object.
    let id: String?
    /// The version of the models that the line was written with; nil if the line does not give one.
    let version: Int64?
    /// Whether the line has the same key twice. The decoder silently takes one of the values.
    private(set) var hasRepeatedKey = false
    /// One field for each column.
    private(set) var fields: [Field]
    private(set) var members: [(relationship: ResolvedRelationship, ids: [String])] = []

    /// Reads the known keys, and compares their number with the number of members in the text. If both are the same,
    /// the line has no former names, unknown keys or repeated keys. Otherwise, the list of the line's keys is read.
    init(from decoder: any Decoder, configuration: Hints) throws {
        let line = try decoder.container(keyedBy: PropertyKey.self)
        let name = try line.decode(String.self, forKey: .model)
        guard let model = configuration.models.model(named: name) else {
            throw LineFailure(nil, PropertyKey.model.stringValue, "is '\(name)', which is not a model of this stack")
        }
        try model.checkAccepted()
        info = model.info
        fields = Array(repeating: .missing, count: model.columns.count)
        var key = PropertyKey.id
        do {
            id = try line.decodeIfPresent(String.self, forKey: key)
            key = PropertyKey.version
            version = try line.decodeIfPresent(Int64.self, forKey: key)
            var knownCount = 1 + (id == nil ? 0 : 1) + (version == nil ? 0 : 1)
            for index in model.columns.indices {
                key = model.columns[index].key
                guard let field = try model.columns[index].field(key, in: line) else { continue }
                fields[index] = field
                knownCount += 1
            }
            for (next, relationship) in model.relationships {
                key = next
                guard line.contains(key) else { continue }
                members.append((relationship, try line.decode([String].self, forKey: key)))
                knownCount += 1
            }
            if knownCount == configuration.memberCount, configuration.isUTF8 { return }
            let keys = line.allKeys
            for next in keys where next != .model && next != .id && next != .version {
                key = next
                try readOther(key, of: model, in: line)
            }
            hasRepeatedKey = keys.count != configuration.memberCount
        } catch let failure as LineFailure {
            throw failure
        } catch let error as DecodingError {
            throw LineFailure(error, name, key)
        } catch {
            // For a number that does not fit, Foundation throws a special error, which would lose the property's name
            // if it left this initializer.
            throw LineFailure(name, key.stringValue, "cannot be read: the value does not have the property's type")
        }
    }

    /// Reads a member if its key is a former name. Refuses an unknown key.
    private mutating func readOther(
        _ key: PropertyKey,
        of model: LineModel,
        in line: KeyedDecodingContainer<PropertyKey>
    ) throws {
        if let index = info.column(inLines: key.stringValue) {
            let column = model.columns[index]
            if column.key == key { return }
            guard case .missing = fields[index] else { throw twice(column.key.stringValue) }
            if let field = try column.field(key, in: line) { fields[index] = field }
            return
        }
        guard let relationship = info.relationship(inLines: key.stringValue) else {
            throw LineFailure(info.name, key.stringValue, "is not a property of the model")
        }
        guard relationship.isAcceptedInLines else {
            throw LineFailure(info.name, key.stringValue, "must be given by the relationship at its other end")
        }
        if relationship.name == key.stringValue { return }
        if members.contains(where: { $0.relationship.name == relationship.name }) { throw twice(relationship.name) }
        members.append((relationship, try line.decode([String].self, forKey: key)))
    }

    private func twice(_ property: String) -> LineFailure {
        LineFailure(info.name, property, "is given twice, by its current name and by a previous name")
    }
}

extension EntityInfo {
    fileprivate func relationship(inLines name: String) -> ResolvedRelationship? {
        relationships.first { $0.name == name } ?? relationships.first { $0.originalName == name }
    }

    fileprivate func column(inLines name: String) -> Int? {
        if let index = columns.firstIndex(where: { $0.name == name }) { return index }
        // A current name takes precedence over a former name.
        if relationships.contains(where: { $0.name == name }) { return nil }
        return columns.firstIndex { $0.originalNames.contains(name) }
    }
}

/// The error of a line.
struct LineFailure: Error {
    let model: String?
    let property: String?
    let message: String
    var underlying: (any Error)?
    /// The reason for callers that give advice about it.
    var reason: StrataError.Reason?

    init(_ model: String?, _ property: String?, _ message: String) {
        (self.model, self.property, self.message) = (model, property, message)
    }

    /// - Parameter key: the key at which the error occurred. If nil, the key is taken from the error.
    init(_ error: DecodingError, _ model: String? = nil, _ key: PropertyKey? = nil) {
        let context: DecodingError.Context
        var place: (any CodingKey)? = key
        switch error {
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found): context = found
        case .keyNotFound(let missing, let found): (context, place) = (found, place ?? missing)
        @unknown default: context = DecodingError.Context(codingPath: [], debugDescription: "\(error)")
        }
        self.init(
            model,
            (place ?? context.codingPath.first)?.stringValue,
            "cannot be read: \(context.debugDescription)"
        )
        underlying = error
    }

    /// The error of the import, which this failure ends.
    func error(line: Int64?) -> StrataError {
        let subject = [model, property].compactMap { $0 }.joined(separator: ".")
        let place = (line.map { "line \($0)" } ?? "a line") + (subject.isEmpty ? "" : ", \(subject)")
        let error = StrataError(
            .invalidImport,
            "Nothing was imported: \(place) \(message)" + (message.hasByteSuffix(".") ? "" : "."),
            underlying: underlying
        )
        return reason.map { error.because($0) } ?? error
    }
}
