import SwiftSyntax

/// A property that `@Model` takes over.
///
/// Every role of the macros parses properties through this type, so that they agree on which there are and on their
/// columns. What cannot be taken over is not a property here; ``PropertyChecks`` says why.
struct Property {
    enum Kind {
        /// A column: an attribute or a to-one relationship.
        case column
        /// A to-many relationship.
        case many
        /// The side of a one-to-one relationship that names its inverse, where the column is.
        case derived
    }

    let declaration: VariableDeclSyntax
    let identifier: TokenSyntax
    let type: PropertyType
    let attribute: PropertyOptions?
    let relationship: PropertyOptions?

    init?(_ declaration: VariableDeclSyntax) {
        guard declaration.isStoredInModel, declaration.bindingSpecifier.tokenKind == .keyword(.var),
            declaration.bindings.count == 1, let binding = declaration.bindings.first,
            let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier,
            let type = binding.typeAnnotation?.type, binding.accessorBlock == nil,
            !declaration.modifiers.contains(where: { Self.foreignModifiers.contains($0.name.text) })
        else { return nil }
        self.declaration = declaration
        self.identifier = identifier
        self.type = PropertyType(type)
        attribute = declaration.attributes.attribute(named: "Attribute").map(PropertyOptions.init(syntax:))
        relationship = declaration.attributes.attribute(named: "Relationship").map(PropertyOptions.init(syntax:))
    }

    /// Modifiers that only storage of its own can have.
    static let foreignModifiers: Set<String> = ["lazy", "weak", "unowned"]

    // Looked up where it is wanted: the compiler asks for the attributes of each member apart, with the whole class in
    // hand, so that parsing a model must be cheap.
    var defaultValue: ExprSyntax? { declaration.bindings.first?.initializer?.value }
    var access: Access { Access(declaration.modifiers) }

    var kind: Kind {
        if type.isMany { return .many }
        return relationship?.inverse != nil && type.isOptional ? .derived : .column
    }

    /// The name as it stands in code, with its backticks if it has any.
    var text: String { identifier.text }

    /// The name in the schema.
    var name: String { identifier.plainText }

    /// Whether the bytes are kept outside of the row, where only their number stands.
    var isExternal: Bool { type.isData && attribute?.option(named: "externalStorage") != nil }

    /// The type of the column in a place where an expression is expected.
    var columnType: String {
        guard isExternal else { return type.expression }
        return type.isOptional ? "(Strata.ExternalData?)" : "Strata.ExternalData"
    }

    /// The type of the property in `Row`.
    var stored: String {
        guard isExternal else { return type.stored }
        return type.isOptional ? "Strata.ExternalData?" : "Strata.ExternalData"
    }

    /// The options of the column, those of `@Attribute` first.
    var options: [String] {
        [attribute, relationship].compactMap(\.self).flatMap { written in
            let originalName = written.originalName.map { ".originalName(\($0.trimmedDescription))" }
            return written.options.map(\.trimmedDescription) + [originalName].compactMap(\.self)
        }
    }

    /// What the column begins with where it is added to rows that are there; nil where that is nothing.
    var storedDefault: String? {
        guard let value = defaultValue, !value.is(NilLiteralExprSyntax.self) else { return nil }
        return isExternal ? "Strata.ExternalData._$wrap(\(value.trimmedDescription))" : value.trimmedDescription
    }

    /// Whether the memberwise initialiser has a parameter for it. Nobody outside could pass what is private, so that
    /// stays out wherever it can.
    var isParameter: Bool {
        kind != .many && (access > .fileprivate || (defaultValue == nil && !type.isOptional))
    }

    /// Whether the initialiser sets it by its accessor, which knows how to relate objects.
    var isSetByAccessor: Bool { kind == .derived || (type.isOptional && !type.isWellKnown) }
}

extension VariableDeclSyntax {
    /// Whether a model would keep this property, if it can: an instance's, not computed, not `@Transient`.
    var isStoredInModel: Bool {
        guard !modifiers.contains(where: { $0.name.text == "static" || $0.name.text == "class" }),
            attributes.attribute(named: "Transient") == nil
        else { return false }
        return !bindings.contains { $0.accessorBlock?.isComputed ?? false }
    }
}

extension AccessorBlockSyntax {
    /// Whether there are accessors other than observers.
    var isComputed: Bool {
        switch accessors {
        case .getter: true
        case .accessors(let list):
            list.contains { !["willSet", "didSet"].contains($0.accessorSpecifier.text) }
        }
    }
}

extension TokenSyntax {
    /// The name without backticks.
    var plainText: String {
        let text = self.text
        return text.count > 2 && text.hasPrefix("`") && text.hasSuffix("`") ? String(text.dropFirst().dropLast()) : text
    }
}
