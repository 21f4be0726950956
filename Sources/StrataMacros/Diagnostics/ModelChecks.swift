import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Checks a declaration that `@Model` is attached to, with all its members.
struct ModelChecks {
    let node: AttributeSyntax
    let declaration: any DeclGroupSyntax
    let context: any MacroExpansionContext

    func run() {
        guard let declaration = declaration.as(ClassDeclSyntax.self) else { return checkKind() }
        checkClass(declaration)
        checkPlace(declaration)
        checkInheritance(declaration)
        guard let model = ParsedModel(declaration) else { return }
        MemberChecks(model: model, context: context).run()
        OptionChecks(model: model, node: node, context: context).run()
    }

    private func checkKind() {
        let keyword: TokenSyntax
        let isMechanical: Bool
        if let declaration = declaration.as(StructDeclSyntax.self) {
            (keyword, isMechanical) = (declaration.structKeyword, true)
        } else if let declaration = declaration.as(ActorDeclSyntax.self) {
            (keyword, isMechanical) = (declaration.actorKeyword, true)
        } else if let declaration = declaration.as(EnumDeclSyntax.self) {
            (keyword, isMechanical) = (declaration.enumKeyword, false)
        } else {
            return context.report("kind", at: node, "'@Model' is for a final class; attach it to the class itself")
        }
        context.report(
            "kind",
            at: keyword,
            "a model is a final class, whose objects belong to contexts; write 'final class' instead of '\(keyword.text)'",
            fixIt: isMechanical ? .replace(keyword, with: "final class", "make it a final class") : nil
        )
    }

    private func checkClass(_ declaration: ClassDeclSyntax) {
        if let modifier = declaration.modifiers.first(where: { $0.name.tokenKind == .keyword(.open) }) {
            context.report(
                "final",
                at: modifier,
                "a model is final and cannot be open; write 'public final'",
                fixIt: .replace(modifier.name, with: "public final", "write 'public final'")
            )
        } else if !declaration.modifiers.contains(where: { $0.name.tokenKind == .keyword(.final) }) {
            context.report(
                "final",
                at: declaration.classKeyword,
                "a model must be final, because Strata does not support inheritance of models; write 'final class'",
                fixIt: .replace(declaration.classKeyword, with: "final class", "add 'final'")
            )
        }
        if let generics = declaration.genericParameterClause {
            context.report(
                "generic",
                at: generics,
                "a model is one table and cannot be generic; declare a model for each type"
            )
        }
        if let attribute = declaration.attributes.attribute(named: "MainActor") {
            context.report(
                "isolation",
                at: attribute,
                "a model belongs to the context of its objects, not to the main actor; remove '@MainActor'",
                fixIt: .remove(attribute)
            )
        }
        let name = declaration.name.plainText
        if ReservedNames.types.contains(name) {
            context.report(
                "modelName",
                at: declaration.name,
                "a model cannot be called '\(name)', because every model has a type with this name; choose another name"
            )
        } else if let reason = ReservedNames.objection(toTable: name) {
            context.report(
                "modelName",
                at: declaration.name,
                "a model cannot be called '\(name)': \(reason); choose another name"
            )
        }
    }

    private func checkPlace(_ declaration: ClassDeclSyntax) {
        if context.lexicalContext.contains(where: {
            $0.asProtocol(WithGenericParametersSyntax.self)?.genericParameterClause != nil
        }) {
            context.report(
                "generic",
                at: declaration.name,
                "a model is one table and cannot be declared in a generic type or function; move it out"
            )
        }
        if let modifier = declaration.modifiers.first(where: { $0.name.tokenKind == .keyword(.private) }),
            !context.lexicalContext.isEmpty
        {
            context.report(
                "private",
                at: modifier,
                "a nested model cannot be private, because its conformance is declared outside; write 'fileprivate'",
                fixIt: .replace(modifier.name, with: "fileprivate", "write 'fileprivate'")
            )
        }
    }

    /// A macro cannot distinguish a superclass from a protocol by its name alone. So this looks for `NSObject` and for
    /// overrides. The compiler reports other superclasses: see ``ModelMacro/superclassCheck(of:)``.
    private func checkInheritance(_ declaration: ClassDeclSyntax) {
        for inherited in declaration.inheritanceClause?.inheritedTypes ?? [] {
            if inherited.type.trimmedDescription.hasSuffix("NSObject") {
                reportSuperclass(
                    at: inherited.type,
                    fixIt: declaration.inheritanceClause.map { .remove(inherited, from: $0) }
                )
            } else if inherited.type.description.split(whereSeparator: \.isWhitespace).last == "Sendable" {
                context.report(
                    "sendable",
                    at: inherited,
                    "objects stay in their context, so a model is not Sendable; remove 'Sendable' and pass rows or ids"
                )
            }
        }
        for member in declaration.memberBlock.members {
            let modifiers = member.decl.asProtocol((any WithModifiersSyntax).self)?.modifiers
            if let modifier = modifiers?.first(where: { $0.name.tokenKind == .keyword(.override) }) {
                return reportSuperclass(at: modifier)
            }
        }
    }

    private func reportSuperclass(at node: some SyntaxProtocol, fixIt: FixIt? = nil) {
        context.report(
            "superclass",
            at: node,
            "a model has no superclass, because Strata does not support inheritance of models; share code in a "
                + "protocol",
            fixIt: fixIt
        )
    }
}
