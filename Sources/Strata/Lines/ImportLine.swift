import Foundation

/// A line of an import, read as its model has it.
struct ImportLine: DecodableWithConfiguration {
    enum Field {
        case missing
        case value(StoredValue)
        /// What the line calls another object.
        case reference(String)
    }

    let info: EntityInfo
    /// What the line calls its object, if other lines are to refer to it.
    let id: String?
    /// One for each column.
    private(set) var fields: [Field]
    private(set) var members: [(relationship: ResolvedRelationship, ids: [String])] = []

    init(from decoder: any Decoder, configuration schema: Schema) throws {
        let line = try decoder.container(keyedBy: LineKey.self)
        let model = try line.decode(String.self, forKey: .model)
        guard let info = schema.infosByName[model], !info.isJoin else {
            throw LineFailure(nil, LineKey.model.stringValue, "is '\(model)', which is no model of this stack")
        }
        self.info = info
        fields = Array(repeating: .missing, count: info.columns.count)
        var key = LineKey.id
        do {
            id = try line.decodeIfPresent(String.self, forKey: key)
            for next in line.allKeys where next != .model && next != .id {
                key = next
                try read(key, in: line)
            }
        } catch let failure as LineFailure {
            throw failure
        } catch let error as DecodingError {
            throw LineFailure(error, model, key)
        } catch {
            // Of a number that does not fit Foundation throws an error of its own, which says it of the whole line once it is out.
            throw LineFailure(model, key.stringValue, "cannot be read: the value is none of the property's")
        }
    }

    private mutating func read(_ key: LineKey, in line: KeyedDecodingContainer<LineKey>) throws {
        if let index = info.columns.firstIndex(where: { $0.name == key.stringValue }) {
            if !info.derived.contains(index) { fields[index] = try field(index, key, in: line) }
            return
        }
        guard let relationship = info.relationships.first(where: { $0.name == key.stringValue }) else {
            throw LineFailure(info.name, key.stringValue, "is no property of the model")
        }
        guard relationship.isInLines else {
            throw LineFailure(info.name, key.stringValue, "is given by the relationship at its other end")
        }
        members.append((relationship, try line.decode([String].self, forKey: key)))
    }

    private func field(_ index: Int, _ key: LineKey, in line: KeyedDecodingContainer<LineKey>) throws -> Field {
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

/// What is wrong with a line.
struct LineFailure: Error {
    let model: String?
    let property: String?
    let message: String
    var underlying: (any Error)?

    init(_ model: String?, _ property: String?, _ message: String) {
        (self.model, self.property, self.message) = (model, property, message)
    }

    /// - Parameter key: where it was met; without it, where the error says.
    init(_ error: DecodingError, _ model: String? = nil, _ key: LineKey? = nil) {
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

    /// As an error of the import, which ends with it.
    func error(line: Int64?) -> StrataError {
        let subject = [model, property].compactMap { $0 }.joined(separator: ".")
        let place = (line.map { "line \($0)" } ?? "a line") + (subject.isEmpty ? "" : ", \(subject)")
        return StrataError(
            .invalidImport,
            "Nothing was imported: \(place) \(message)" + (message.hasSuffix(".") ? "" : "."),
            underlying: underlying
        )
    }
}
