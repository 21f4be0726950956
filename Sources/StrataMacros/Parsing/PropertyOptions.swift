import SwiftSyntax

/// The arguments of `@Attribute` or `@Relationship` at a property.
struct PropertyOptions {
    let syntax: AttributeSyntax

    private var arguments: LabeledExprListSyntax { syntax.arguments?.as(LabeledExprListSyntax.self) ?? [] }

    /// The arguments without a label, each an `AttributeOption`.
    ///
    /// `filter` would create a list of copies, and a diagnostic at a copy has no location in the source.
    var options: [ExprSyntax] { arguments.compactMap { $0.label == nil ? $0.expression : nil } }

    /// The argument with this label. Nil if it is missing, or if it is a literal `nil`.
    private subscript(label: String) -> ExprSyntax? {
        let expression = arguments.first { $0.label?.text == label }?.expression
        return expression.flatMap { $0.is(NilLiteralExprSyntax.self) ? nil : $0 }
    }

    var originalName: ExprSyntax? { self["originalName"] }
    var deleteRule: ExprSyntax? { self["deleteRule"] }
    var inverse: ExprSyntax? { self["inverse"] }
    var ordered: ExprSyntax? { self["ordered"] }

    /// The option written as `.name` or `AttributeOption.name`.
    func option(named name: String) -> ExprSyntax? {
        options.first { Self.name(of: $0) == name }
    }

    /// The name of an option, with or without arguments.
    static func name(of option: ExprSyntax) -> String? {
        let called = option.as(FunctionCallExprSyntax.self)?.calledExpression ?? option
        return called.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    }
}

extension AttributeListSyntax {
    /// The attribute with this name, which may be qualified with its module's name.
    func attribute(named name: String) -> AttributeSyntax? {
        lazy.compactMap { $0.as(AttributeSyntax.self) }.first { $0.isNamed(name) }
    }
}

extension AttributeSyntax {
    /// Whether the attribute has this name, which may be qualified with its module's name.
    func isNamed(_ name: String) -> Bool {
        if let type = attributeName.as(IdentifierTypeSyntax.self) { return type.name.text == name }
        guard let type = attributeName.as(MemberTypeSyntax.self), type.name.text == name else { return false }
        return ["Strata", "Swift"].contains(type.baseType.trimmedDescription)
    }
}
