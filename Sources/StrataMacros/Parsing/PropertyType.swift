import SwiftSyntax

/// A property's type, as far as its spelling shows.
///
/// The nodes remain in the user's syntax tree, including their whitespace, so that diagnostics have a location.
struct PropertyType {
    enum Shape {
        /// `Many<T>`.
        case many(TypeSyntax)
        /// `T?` or `Optional<T>`.
        case optional(TypeSyntax)
        case plain
    }

    let syntax: TypeSyntax
    let shape: Shape

    init(_ type: TypeSyntax) {
        syntax = type
        if let optional = type.as(OptionalTypeSyntax.self) {
            shape = .optional(optional.wrappedType)
        } else if let wrapped = type.argument(ofGeneric: "Optional", in: "Swift") {
            shape = .optional(wrapped)
        } else if let destination = type.argument(ofGeneric: "Many", in: "Strata") {
            shape = .many(destination)
        } else {
            shape = .plain
        }
    }

    var isOptional: Bool {
        if case .optional = shape { true } else { false }
    }

    var isMany: Bool {
        if case .many = shape { true } else { false }
    }

    /// The destination of a relationship of this type.
    var destination: TypeSyntax? {
        switch shape {
        case .many(let type), .optional(let type): type
        case .plain: nil
        }
    }

    /// Whether this is an attribute type whose stored form is known, or an optional of one.
    var isWellKnown: Bool { held?.isWellKnownScalar ?? false }

    /// Whether this is `Data` or an optional of it.
    var isData: Bool { held?.isNamedData ?? false }

    /// The kind of the type's values, or of the optional's values. Nil if the spelling does not show it.
    var content: TypeContent? { held?.content }

    /// The type of the values, without an optional; nil for a to-many relationship.
    private var held: TypeSyntax? {
        switch shape {
        case .many: nil
        case .optional(let wrapped): wrapped
        case .plain: syntax
        }
    }

    var text: String { syntax.trimmedDescription }

    /// The type, in a form that is valid as an expression: `String`, `(Author?)`.
    var expression: String {
        syntax.is(IdentifierTypeSyntax.self) || syntax.is(MemberTypeSyntax.self) ? text : "(\(text))"
    }

    /// The type of the property in `Row`.
    var stored: String { isWellKnown ? text : "(\(text)).Stored" }
}

/// The kind of a type's values, for the checks that attributes declare.
enum TypeContent {
    case texts
    case numbers
    case others
}

extension TypeSyntax {
    private static let wellKnown: [String: TypeContent] = [
        "Int": .numbers, "Int8": .numbers, "Int16": .numbers, "Int32": .numbers, "Int64": .numbers, "UInt": .numbers,
        "UInt8": .numbers, "UInt16": .numbers, "UInt32": .numbers, "UInt64": .numbers, "Double": .numbers,
        "Float": .numbers, "Decimal": .numbers, "String": .texts, "URL": .texts, "Bool": .others, "Date": .others,
        "UUID": .others, "Data": .others,
    ]

    /// The name without a module qualifier.
    private func name(in modules: String...) -> (name: String, arguments: GenericArgumentClauseSyntax?)? {
        if let type = self.as(IdentifierTypeSyntax.self) { return (type.name.text, type.genericArgumentClause) }
        if let type = self.as(MemberTypeSyntax.self), modules.contains(type.baseType.trimmedDescription) {
            return (type.name.text, type.genericArgumentClause)
        }
        return nil
    }

    var isWellKnownScalar: Bool {
        guard let (name, arguments) = name(in: "Swift", "Foundation") else { return false }
        return arguments == nil && Self.wellKnown[name] != nil
    }

    /// The kind of the values. Nil if the spelling does not show it.
    var content: TypeContent? {
        if self.is(ArrayTypeSyntax.self) || self.is(DictionaryTypeSyntax.self) { return .others }
        guard let (name, arguments) = name(in: "Swift", "Foundation") else { return nil }
        return arguments == nil ? Self.wellKnown[name] : nil
    }

    /// Whether this is `Date`, the type of timestamps.
    var isDate: Bool { name(in: "Foundation")?.name == "Date" }

    /// Whether this is `Data`, which can be stored outside of the row.
    var isNamedData: Bool { name(in: "Foundation")?.name == "Data" }

    func argument(ofGeneric generic: String, in module: String) -> TypeSyntax? {
        guard let (name, arguments) = name(in: module), name == generic, let arguments,
            arguments.arguments.count == 1, let argument = arguments.arguments.first?.argument.as(TypeSyntax.self)
        else { return nil }
        return argument
    }
}
