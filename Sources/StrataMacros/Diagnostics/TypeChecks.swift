import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Reports types that a model's property cannot have, as far as their spelling shows.
struct TypeChecks {
    let context: any MacroExpansionContext

    /// - Returns: true if the type is valid.
    func run(_ type: TypeSyntax) -> Bool {
        if let implicit = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            let text = implicit.wrappedType.trimmedDescription + "?"
            return report(
                type,
                "a model's property cannot be implicitly unwrapped, because nil is a value like any other; write "
                    + "'\(text)'",
                fixIt: .replace(type, with: text)
            )
        }
        let parsed = PropertyType(type)
        if case .optional(let wrapped) = parsed.shape {
            let inner = PropertyType(wrapped)
            if case .optional = inner.shape {
                return report(
                    type,
                    "a column has only one null, so an optional of an optional cannot be stored; write '\(inner.text)'",
                    fixIt: .replace(type, with: inner.text)
                )
            }
            if inner.isMany {
                return report(
                    type,
                    "a to-many relationship is never nil, only empty; write '\(inner.text)'",
                    fixIt: .replace(type, with: inner.text)
                )
            }
        }
        let bare = parsed.destination ?? parsed.syntax
        if let destination = bare.argument(ofGeneric: "ObjectID", in: "Strata") {
            let text = destination.trimmedDescription + "?"
            return report(
                type,
                "a reference to an object is a relationship, which stores its id; write '\(text)'",
                fixIt: .replace(type, with: text)
            )
        }
        if let objection = Self.objection(to: bare) { return report(type, objection) }
        return checkNames(in: type)
    }

    private static func objection(to type: TypeSyntax) -> String? {
        let type = unwrapped(type)
        if type.is(TupleTypeSyntax.self) {
            return "a tuple cannot be stored in a column; write a struct that is Codable, Equatable and AttributeValue"
        }
        if type.is(FunctionTypeSyntax.self) || type.is(AttributedTypeSyntax.self) {
            return "a function cannot be stored in a column; write a method, or mark the property '@Transient'"
        }
        if type.is(SomeOrAnyTypeSyntax.self) || type.is(CompositionTypeSyntax.self)
            || ["Any", "AnyObject", "AnyHashable"].contains(type.trimmedDescription)
        {
            return "a column must have one concrete type to be read; write that type, or an enum of the types that "
                + "occur"
        }
        if type.is(MetatypeTypeSyntax.self) {
            return "a type cannot be stored in a column; write an enum that represents it"
        }
        return nil
    }

    /// The type without enclosing parentheses.
    private static func unwrapped(_ type: TypeSyntax) -> TypeSyntax {
        guard let tuple = type.as(TupleTypeSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first,
            only.firstName == nil
        else { return type }
        return unwrapped(only.type)
    }

    /// Generated code repeats the type inside `Row` and `Columns`, where some names have another meaning.
    private func checkNames(in type: TypeSyntax) -> Bool {
        for token in type.tokens(viewMode: .sourceAccurate) {
            if token.tokenKind == .keyword(.Self) {
                return report(token, "'Self' would mean the row type here; write the name of the class")
            }
            if ReservedNames.types.contains(token.text), token.previousToken(viewMode: .sourceAccurate)?.text != "." {
                return report(
                    token,
                    "'\(token.text)' means a type inside the model here; write it with the name of its module, "
                        + "'MyModule.\(token.text)'"
                )
            }
        }
        return true
    }

    private func report(_ node: some SyntaxProtocol, _ message: String, fixIt: FixIt? = nil) -> Bool {
        context.report("propertyType", at: node, message, fixIt: fixIt)
        return false
    }
}
