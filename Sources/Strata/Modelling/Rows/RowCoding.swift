/// The keys that coders use for the properties of rows, and the properties that they omit.
///
/// Without options, each key is the name of its property. Options belong to a coder:
///
/// ```swift
/// let encoder = JSONEncoder()
/// encoder.userInfo[.rowCoding] = RowCoding.snakeCase.omitting(\.password, of: Account.self)
/// ```
///
/// ``ModelRow/encode(to:)`` and ``ModelRow/init(from:)`` describe the form of rows.
public struct RowCoding: Sendable {
    let naming: @Sendable (String) -> String
    private var omitted: [(model: ObjectIdentifier, property: String)] = []
    /// The key paths to omit that do not lead to properties of their model.
    private var foreign: [(model: ObjectIdentifier, path: String)] = []
    /// The keys of these options. Changed copies of the options have another cache.
    private var cache = PropertyKeyCache()

    /// Options that omit no property.
    ///
    /// - Parameter naming: returns the key for the name of a property, and for `id`. It is called when the first row of
    ///   a model is coded, and its results are kept. The properties of one model must have different keys: otherwise,
    ///   encoding and decoding its rows throws `invalidArgument`.
    public init(naming: @escaping @Sendable (String) -> String = { $0 }) { self.naming = naming }

    /// Keys such as `created_at` and `image_url`, for `createdAt` and `imageURL`.
    ///
    /// `convertToSnakeCase` of `JSONEncoder` writes the same key for `imageURL`, but `JSONDecoder` cannot find the
    /// property again.
    public static let snakeCase = RowCoding { name in
        let letters = Array(name)
        return letters.indices.reduce(into: "") { key, index in
            let (letter, next) = (letters[index], letters.dropFirst(index + 1).first)
            if index > 0, letter.isUppercase, letters[index - 1] != "_",
                !letters[index - 1].isUppercase || next?.isLowercase == true
            {
                key += "_"
            }
            key += letter.lowercased()
        }
    }

    /// These options, without some properties of a model.
    ///
    /// An encoder does not write the properties. A decoder ignores their keys, so each of the properties gets its
    /// default, or nil if it is optional. If a property has neither, decoding throws `keyNotFound`. A derived attribute
    /// is written even if it is calculated from an omitted one. Without its `id`, a decoded row is a new row.
    ///
    /// - Parameters:
    ///   - properties: attributes and relationships of the model itself, and `\.id`. The compiler also accepts a
    ///     property of a related object, such as `\.author.name`. Encoding and decoding rows of the model then throws
    ///     `invalidArgument`.
    ///   - model: the model whose rows do not have the properties.
    public func omitting<Object: Model>(
        _ properties: PartialKeyPath<Object.Columns>...,
        of model: Object.Type
    ) -> RowCoding {
        var coding = self
        coding.cache = PropertyKeyCache()
        for path in properties {
            if let property = (Object.columns[keyPath: path] as? any PropertyExpression)?._$property {
                coding.omitted.append((ObjectIdentifier(model), property))
            } else {
                coding.foreign.append((ObjectIdentifier(model), "\(path)"))
            }
        }
        return coding
    }

    /// The keys for the id and for the columns of a model, in this order; nil for properties that are omitted.
    ///
    /// - Throws: ``StrataError`` with `invalidArgument` if two properties have the same key, or if the options omit a
    ///   property of another object.
    /// - Complexity: O(columns · omitted properties) for the first row of a model; O(1) for other rows.
    func keys(of model: any Model.Type) throws -> [PropertyKey?] {
        try cache.keys(of: model) { try makeKeys(of: model) }
    }

    private func makeKeys(of model: any Model.Type) throws -> [PropertyKey?] {
        let (schema, model) = (model._$schema, ObjectIdentifier(model))
        if let foreign = foreign.first(where: { $0.model == model }) {
            throw StrataError(
                .invalidArgument,
                "The RowCoding omits \(foreign.path), which is not a property of \(schema.name) itself. Name "
                    + "attributes and relationships of \(schema.name), or \\.id."
            )
        }
        // Coders compare keys as Swift compares texts, and would write one value over the other.
        var properties: [PropertyKey: String] = [:]
        return try (["id"] + schema.columns.map(\.name)).map { property in
            guard !omitted.contains(where: { $0.model == model && $0.property == property }) else { return nil }
            let key = PropertyKey(stringValue: naming(property))
            if let other = properties.updateValue(property, forKey: key) {
                throw StrataError(
                    .invalidArgument,
                    "The RowCoding has the key '\(key.stringValue)' for \(schema.name).\(other) and for "
                        + "\(schema.name).\(property). Give them different keys, or omit one of them."
                )
            }
            return key
        }
    }
}

extension CodingUserInfoKey {
    /// The ``RowCoding`` of a coder.
    public static let rowCoding = CodingUserInfoKey(rawValue: "Strata.RowCoding")!  // the initializer never returns nil
}

extension ModelRow {
    /// Encodes the values by the names of their properties, or as the ``RowCoding`` of the encoder says. This includes
    /// private properties.
    ///
    /// - The values are encoded as their types do it, so the encoder's strategies for dates and data apply. A type that
    ///   is not `Codable` has the form in which the store keeps it: an enum is its raw value, and a transformed value
    ///   is the value that the transformer stores.
    /// - The id and to-one relationships are the texts of ids. To-many relationships are not part of a row.
    /// - A nil has no key. If the property has a default, a nil is `null`, so that decoding does not return the
    ///   default. A row without an id has no key for the id.
    ///
    /// - Throws: `EncodingError` for an ``ExternalData`` whose bytes were not read; ``StrataError`` with
    ///   `invalidArgument` for a ``RowCoding`` that does not fit the model; errors of the encoder, of the values and of
    ///   transformers.
    public func encode(to encoder: any Encoder) throws {
        var row = try RowEncoder(encoder, Object.self)
        try row.encode(id)
        try _$encode(to: &row)
    }

    /// Decodes a row in the form of ``encode(to:)``.
    ///
    /// - A property whose key is missing gets its default, or nil if it is optional. A row without an id gets
    ///   ``ObjectID/unassigned``.
    /// - Keys of derived attributes and unknown keys are ignored.
    /// - The rules of the attributes are not checked before the row is inserted.
    ///
    /// - Throws: `DecodingError` with the path to the wrong or missing value. An error of a type or transformer is its
    ///   underlying error. ``StrataError`` with `invalidArgument` for a ``RowCoding`` that does not fit the model.
    public init(from decoder: any Decoder) throws {
        try self.init(_$decoding: RowDecoder(decoder, Object.self))
    }
}
