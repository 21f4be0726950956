import SwiftSyntax

/// What `@Attribute` or `@Relationship` says about a property.
struct PropertyOptions {
    let syntax: AttributeSyntax

    private var arguments: LabeledExprListSyntax { syntax.arguments?.as(LabeledExprListSyntax.self) ?? [] }

    /// The arguments without a label, each an `AttributeOption`.
    ///
    /// Not by `filter`, which makes a list of copies: what is reported at a copy has no place in the source.
    var options: [ExprSyntax] { arguments.compactMap { $0.label == nil ? $0.expression : nil } }

    /// An argument that is there and more than the `nil` that stands for its absence.
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

    /// The name of an option, with arguments or without.
    static func name(of option: ExprSyntax) -> String? {
        let called = option.as(FunctionCallExprSyntax.self)?.calledExpression ?? option
        return called.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    }
}

extension AttributeListSyntax {
    /// The attribute of that name, also where it is qualified with its module's.
    func attribute(named name: String) -> AttributeSyntax? {
        lazy.compactMap { $0.as(AttributeSyntax.self) }.first { $0.isNamed(name) }
    }
}

extension AttributeSyntax {
    /// Whether this is its name, also if that is qualified with its module's.
    func isNamed(_ name: String) -> Bool {
        if let type = attributeName.as(IdentifierTypeSyntax.self) { return type.name.text == name }
        guard let type = attributeName.as(MemberTypeSyntax.self), type.name.text == name else { return false }
        return ["Strata", "Swift"].contains(type.baseType.trimmedDescription)
    }
}
