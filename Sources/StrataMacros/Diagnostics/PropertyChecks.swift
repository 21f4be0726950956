import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Checks that a property is a valid property of a model.
struct PropertyChecks {
    let declaration: VariableDeclSyntax
    let model: ParsedModel
    let context: any MacroExpansionContext

    func run() {
        RepetitionChecks(declaration: declaration, context: context).run()
        if declaration.attributes.attribute(named: "Derived") != nil {
            if let binding = declaration.bindings.first { checkName(binding) }
            return DerivedChecks(declaration: declaration, model: model, context: context).run()
        }
        guard declaration.isStoredInModel else { return checkTransient() }
        guard checkDeclaration(), let binding = declaration.bindings.first else { return }
        checkName(binding)
        guard let type = binding.typeAnnotation?.type else { return reportMissingType(of: binding) }
        guard TypeChecks(context: context).run(type), let property = Property(declaration) else { return }
        RelationshipChecks(property: property, context: context).run()
    }

    /// A transient property is not part of the row, so its value must come from another source.
    private func checkTransient() {
        guard declaration.attributes.attribute(named: "Transient") != nil else { return }
        for binding in declaration.bindings where binding.initializer == nil && binding.accessorBlock == nil {
            if let type = binding.typeAnnotation?.type, PropertyType(type).isOptional,
                declaration.bindingSpecifier.tokenKind == .keyword(.var)
            {
                continue
            }
            if declaration.modifiers.contains(where: { $0.name.text == "static" }) { continue }
            context.report(
                "transient",
                at: binding,
                "a transient property is not a parameter of the initialiser; give it a default value"
            )
        }
    }

    private func checkDeclaration() -> Bool {
        if declaration.bindingSpecifier.tokenKind == .keyword(.let) {
            context.report(
                "let",
                at: declaration.bindingSpecifier,
                "a model's stored property must be a 'var', because contexts refresh it; write 'var', 'private(set) "
                    + "var', or '@Transient let' for a value that is not stored",
                fixIt: .replace(declaration.bindingSpecifier, with: "var", "write 'var'")
            )
            return false
        }
        if let modifier = declaration.modifiers.first(where: { Property.foreignModifiers.contains($0.name.text) }) {
            context.report("modifier", at: modifier, Self.explanation(of: modifier.name.text))
            return false
        }
        guard declaration.bindings.count == 1, let binding = declaration.bindings.first else {
            context.report(
                "bindings",
                at: declaration.bindings,
                "a model declares one property at a time; write a separate 'var' for each"
            )
            return false
        }
        guard binding.pattern.is(IdentifierPatternSyntax.self) else {
            context.report(
                "pattern",
                at: binding.pattern,
                "a model declares one property at a time; write a separate 'var' for each element of the tuple"
            )
            return false
        }
        if let observers = binding.accessorBlock {
            context.report(
                "observers",
                at: observers,
                "a model's property cannot have observers, because contexts change it too; observe the context, or "
                    + "set the property in a method that also does the other work"
            )
            return false
        }
        return true
    }

    private static func explanation(of modifier: String) -> String {
        if modifier == "lazy" {
            return "a model's property cannot be lazy, because its value is in the row; remove 'lazy', or mark it "
                + "'@Transient'"
        }
        return "a relationship does not retain objects, so it cannot form a retain cycle; remove '\(modifier)'"
    }

    private func checkName(_ binding: PatternBindingSyntax) {
        guard let token = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier,
            let reason = ReservedNames.objection(toProperty: token.plainText)
        else { return }
        context.report(
            "name",
            at: token,
            "a property cannot be called '\(token.plainText)': \(reason); choose another name"
        )
    }

    private func reportMissingType(of binding: PatternBindingSyntax) {
        let type = binding.initializer.flatMap { Self.type(of: $0.value) }
        let hint = type.map { "write ': \($0)' after its name" } ?? "write it after its name"
        var fixIt: FixIt?
        if let type, let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier {
            fixIt = .replace(identifier, with: "\(identifier.text): \(type)", "add ': \(type)'")
        }
        context.report(
            "type",
            at: binding,
            "a model's property must declare its type; \(hint)",
            fixIt: fixIt
        )
    }

    /// The default type of a literal, or the type of an initialiser call of a well-known type.
    private static func type(of value: ExprSyntax) -> String? {
        if let negative = value.as(PrefixOperatorExprSyntax.self), negative.operator.text == "-" {
            return type(of: negative.expression)
        }
        if value.is(IntegerLiteralExprSyntax.self) { return "Int" }
        if value.is(FloatLiteralExprSyntax.self) { return "Double" }
        if value.is(BooleanLiteralExprSyntax.self) { return "Bool" }
        if value.is(StringLiteralExprSyntax.self) { return "String" }
        if let called = value.as(FunctionCallExprSyntax.self)?.calledExpression.trimmedDescription {
            let type: TypeSyntax = "\(raw: called)"
            return type.isWellKnownScalar ? called : nil
        }
        return nil
    }
}
