import SwiftSyntax

/// A property that `@Model` manages.
///
/// Every role of the macros parses properties by this type, so that all roles agree on the properties and their
/// columns. A property that a model cannot manage does not parse. ``PropertyChecks`` reports the reason.
struct Property {
    enum Kind {
        /// A column: an attribute or a to-one relationship.
        case column
        /// A to-many relationship.
        case many
        /// The side of a one-to-one relationship that names its inverse. The column is on the inverse side.
        case derived
        /// A column that is calculated from other columns.
        case computed
    }

    let declaration: VariableDeclSyntax
    let identifier: TokenSyntax
    let type: PropertyType
    /// Whether the property is calculated.
    let isDerived: Bool
    let attribute: PropertyOptions?
    let relationship: PropertyOptions?

    init?(_ declaration: VariableDeclSyntax) {
        let derived = declaration.attributes.attribute(named: "Derived")
        guard derived == nil ? declaration.isStoredInModel : declaration.isDerivedInModel,
            declaration.bindingSpecifier.tokenKind == .keyword(.var),
            declaration.bindings.count == 1, let binding = declaration.bindings.first,
            let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier,
            let type = binding.typeAnnotation?.type, derived != nil || binding.accessorBlock == nil,
            !declaration.modifiers.contains(where: { Self.foreignModifiers.contains($0.name.text) })
        else { return nil }
        self.declaration = declaration
        self.identifier = identifier
        self.type = PropertyType(type)
        isDerived = derived != nil
        attribute = (derived ?? declaration.attributes.attribute(named: "Attribute")).map(PropertyOptions.init(syntax:))
        relationship = declaration.attributes.attribute(named: "Relationship").map(PropertyOptions.init(syntax:))
    }

    /// Modifiers that require separate storage.
    static let foreignModifiers: Set<String> = ["lazy", "weak", "unowned"]

    // Computed on demand: the compiler requests the attributes of each member separately and passes the whole class
    // each time, so parsing a model must be cheap.
    var defaultValue: ExprSyntax? { declaration.bindings.first?.initializer?.value }
    var access: Access { Access(declaration.modifiers) }

    var kind: Kind {
        if isDerived { return .computed }
        if type.isMany { return .many }
        return relationship?.inverse != nil && type.isOptional ? .derived : .column
    }

    /// Whether the model's table has a column for the property.
    var isColumn: Bool { kind == .column || kind == .computed }

    /// The type of the transformer that converts the stored values. Nil without a transformer.
    var transformer: String? {
        let option = attribute?.option(named: "transformed")?.as(FunctionCallExprSyntax.self)
        let type = option?.arguments.first?.expression.as(MemberAccessExprSyntax.self)
        guard type?.declName.baseName.text == "self" else { return nil }
        return type?.base?.trimmedDescription
    }

    /// The name as it is written in code, including backticks.
    var text: String { identifier.text }

    /// The name in the schema.
    var name: String { identifier.plainText }

    /// Whether the bytes are stored outside of the row. The row contains only an id that refers to them.
    var isExternal: Bool { type.isData && attribute?.option(named: "externalStorage") != nil }

    /// The column's type, in a form that is valid as an expression.
    var columnType: String {
        if let transformer {
            let type = "Strata.Transformed<\(transformer)>"
            return self.type.isOptional ? "(\(type)?)" : type
        }
        guard isExternal else { return type.expression }
        return type.isOptional ? "(Strata.ExternalData?)" : "Strata.ExternalData"
    }

    /// The type of the property in `Row`.
    var stored: String {
        if transformer != nil || isDerived { return type.text }
        guard isExternal else { return type.stored }
        return type.isOptional ? "Strata.ExternalData?" : "Strata.ExternalData"
    }

    /// The options of the column, starting with those of `@Attribute`.
    var options: [String] {
        [attribute, relationship].compactMap(\.self).flatMap { written in
            let originalName = written.originalName.map { ".originalName(\($0.trimmedDescription))" }
            return written.options.map(\.trimmedDescription) + [originalName].compactMap(\.self)
        } + (isDerived ? ["._$derived"] : []) + (hasLiteralDefault ? ["._$literalDefault"] : [])
    }

    /// Whether the initial value is a literal that the column stores as it is.
    private var hasLiteralDefault: Bool {
        kind == .column && transformer == nil && !isExternal && defaultValue?.isConstantLiteral ?? false
    }

    /// The value for existing rows when a migration adds the column. Nil if existing rows need none.
    var storedDefault: String? {
        guard let value = defaultValue, !value.is(NilLiteralExprSyntax.self) else { return nil }
        if let transformer {
            return "Strata.RowSupport.transformed(\(value.trimmedDescription), by: \(transformer).self)"
        }
        return isExternal ? "Strata.ExternalData._$wrap(\(value.trimmedDescription))" : value.trimmedDescription
    }

    /// Whether the memberwise initialiser has a parameter for the property. Code outside the file could not pass a
    /// private property, so private properties have no parameter if possible.
    var isParameter: Bool {
        kind != .many && kind != .computed && (access > .fileprivate || (defaultValue == nil && !type.isOptional))
    }

    /// Whether the initialiser sets the property by its accessor, which also updates relationships.
    var isSetByAccessor: Bool {
        kind == .derived || (kind == .column && transformer == nil && type.isOptional && !type.isWellKnown)
    }
}

extension VariableDeclSyntax {
    /// Whether a model stores this property: an instance property that is neither computed nor `@Transient`.
    var isStoredInModel: Bool {
        guard !modifiers.isStatic, attributes.attribute(named: "Transient") == nil else { return false }
        return !bindings.contains { $0.accessorBlock?.isComputed ?? false }
    }

    /// Whether a model can calculate this property: an instance property with only a getter.
    var isDerivedInModel: Bool {
        !modifiers.isStatic && bindings.count == 1 && bindings.first?.accessorBlock?.isPlainGetter ?? false
    }
}

extension ExprSyntax {
    /// Whether the expression is a number, a Boolean, a text without interpolations, or an array of these.
    fileprivate var isConstantLiteral: Bool {
        if let text = self.as(StringLiteralExprSyntax.self) {
            return text.segments.allSatisfy { $0.is(StringSegmentSyntax.self) }
        }
        if let negated = self.as(PrefixOperatorExprSyntax.self) {
            return negated.operator.text == "-" && negated.expression.isNumberLiteral
        }
        if let list = self.as(ArrayExprSyntax.self) {
            return list.elements.allSatisfy { $0.expression.isConstantLiteral }
        }
        return isNumberLiteral || self.is(BooleanLiteralExprSyntax.self)
    }

    private var isNumberLiteral: Bool {
        self.is(IntegerLiteralExprSyntax.self) || self.is(FloatLiteralExprSyntax.self)
    }
}

extension DeclModifierListSyntax {
    /// Whether the declaration belongs to the type: `static` or `class`.
    var isStatic: Bool { contains { $0.name.text == "static" || $0.name.text == "class" } }
}

extension AccessorBlockSyntax {
    /// Whether there is only a getter, without `async` and `throws`.
    var isPlainGetter: Bool {
        switch accessors {
        case .getter: true
        case .accessors(let list):
            list.count == 1
                && list.allSatisfy { $0.accessorSpecifier.tokenKind == .keyword(.get) && $0.effectSpecifiers == nil }
        }
    }

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
