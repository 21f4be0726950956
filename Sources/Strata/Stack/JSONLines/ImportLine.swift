import Foundation

/// A line of an import, decoded according to its model.
struct ImportLine: DecodableWithConfiguration {
    enum Field {
        case missing
        case value(StoredValue)
        /// The line's name for another object.
        case reference(String)
    }

    let info: EntityInfo
    /// The line's name for its object; nil if other lines do not refer to the object.
    let id: String?
    /// The version of the models that the line was written with; nil if the line does not give one.
    let version: Int64?
    /// The number of members of the JSON object, with each key counted once.
    let memberCount: Int
    /// One field for each column.
    private(set) var fields: [Field]
    private(set) var members: [(relationship: ResolvedRelationship, ids: [String])] = []

    init(from decoder: any Decoder, configuration schema: Schema) throws {
        let line = try decoder.container(keyedBy: PropertyKey.self)
        let model = try line.decode(String.self, forKey: .model)
        guard let info = schema.info(inLines: model) else {
            throw LineFailure(nil, PropertyKey.model.stringValue, "is '\(model)', which is not a model of this stack")
        }
        self.info = info
        fields = Array(repeating: .missing, count: info.columns.count)
        let keys = line.allKeys
        memberCount = keys.count
        var key = PropertyKey.id
        do {
            id = try line.decodeIfPresent(String.self, forKey: key)
            key = PropertyKey.version
            version = try line.decodeIfPresent(Int64.self, forKey: key)
            for next in keys where next != .model && next != .id && next != .version {
                key = next
                try read(key, schema, in: line)
            }
        } catch let failure as LineFailure {
            throw failure
        } catch let error as DecodingError {
            throw LineFailure(error, model, key)
        } catch {
            // For a number that does not fit, Foundation throws a special error, which would lose the property's name
            // if it left this initializer.
            throw LineFailure(model, key.stringValue, "cannot be read: the value does not have the property's type")
        }
    }

    private mutating func read(
        _ key: PropertyKey,
        _ schema: Schema,
        in line: KeyedDecodingContainer<PropertyKey>
    ) throws {
        if let index = info.column(inLines: key.stringValue) {
            guard case .missing = fields[index] else { throw twice(info.columns[index].name) }
            if !info.derived.contains(index) { fields[index] = try field(index, key, in: line) }
            return
        }
        guard let relationship = schema.relationship(inLines: key.stringValue, of: info) else {
            throw LineFailure(info.name, key.stringValue, "is not a property of the model")
        }
        guard relationship.isInLines else {
            throw LineFailure(info.name, key.stringValue, "must be given by the relationship at its other end")
        }
        if members.contains(where: { $0.relationship.name == relationship.name }) { throw twice(relationship.name) }
        members.append((relationship, try line.decode([String].self, forKey: key)))
    }

    private func twice(_ property: String) -> LineFailure {
        LineFailure(info.name, property, "is given twice, by its current name and by a previous name")
    }

    private func field(_ index: Int, _ key: PropertyKey, in line: KeyedDecodingContainer<PropertyKey>) throws -> Field {
        let column = info.columns[index]
        if try line.decodeNil(forKey: key) {
            if index == info.createdAt || index == info.updatedAt { return .missing }
            guard column.isOptional else { throw LineFailure(info.name, column.name, "must have a value") }
            return .value(.null)
        }
        if column.destination != nil { return .reference(try line.decode(String.self, forKey: key)) }
        return .value(try column.storedValue(in: line, key))
    }
}

extension Schema {
    /// The opened model with this name or former name in lines.
    fileprivate func info(inLines name: String) -> EntityInfo? {
        if let info = infosByName[name] { return info.isJoin ? nil : info }
        return openedEntities.map(\.info).first { model($0.index)?._$schema.originalName == name }
    }

    fileprivate func relationship(inLines name: String, of info: EntityInfo) -> ResolvedRelationship? {
        if let found = info.relationships.first(where: { $0.name == name }) { return found }
        return info.relationships.first {
            originals(of: PropertyPath(table: info.table, property: $0.name)).contains(name)
        }
    }
}

extension EntityInfo {
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
        return StrataError(
            .invalidImport,
            "Nothing was imported: \(place) \(message)" + (message.hasByteSuffix(".") ? "" : "."),
            underlying: underlying
        )
    }
}
