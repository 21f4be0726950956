import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Checks that a derived property can be calculated from the columns of its object.
struct DerivedChecks {
    let declaration: VariableDeclSyntax
    let model: ParsedModel
    let context: any MacroExpansionContext

    func run() {
        guard declaration.isDerivedInModel, let binding = declaration.bindings.first,
            let getter = binding.accessorBlock
        else {
            return context.report(
                "derived",
                at: declaration.bindings,
                "a derived attribute has only a getter, which is neither async nor throwing; write "
                    + "'var \(name): String { … }'"
            )
        }
        checkOptions()
        for reference in References(in: getter).names {
            guard let objection = objection(to: reference.text) else { continue }
            context.report("derived", at: reference, objection)
        }
    }

    private var name: String { declaration.bindings.first?.pattern.trimmedDescription ?? "name" }

    private func checkOptions() {
        if let attribute = declaration.attributes.attribute(named: "Attribute") {
            context.report(
                "derived",
                at: attribute,
                "a derived attribute takes its options in '@Derived'; write '@Derived(.indexed)'",
                fixIt: .remove(attribute)
            )
        }
        let wrong: Set = ["createdAt", "updatedAt", "externalStorage", "transformed"]
        let options = declaration.attributes.attribute(named: "Derived").map(PropertyOptions.init(syntax:))?.options
        for option in options ?? [] where PropertyOptions.name(of: option).map(wrong.contains) ?? false {
            context.report("derived", at: option, "a derived attribute is calculated and stored unchanged; remove this")
        }
    }

    /// The reason why the getter cannot use a member of the model. The getter is also compiled for rows, which have
    /// only columns.
    private func objection(to name: String) -> String? {
        if let property = model.properties.first(where: { $0.name == name }) {
            if property.isExternal {
                return "the bytes of '\(name)' are outside of the row, so nothing can be derived from them; store the "
                    + "needed part in another attribute"
            }
            if property.isColumn { return nil }
            return
                "'\(name)' is stored in other objects, and a derived attribute can use only columns of the same "
                + "object; set an attribute in 'willInsert' and 'willUpdate' instead"
        }
        let isMember = model.declaration.memberBlock.members.contains { member in
            if let function = member.decl.as(FunctionDeclSyntax.self) {
                return function.name.plainText == name && !function.modifiers.isStatic
            }
            guard let property = member.decl.as(VariableDeclSyntax.self), !property.modifiers.isStatic else {
                return false
            }
            return property.bindings.contains {
                $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainText == name
            }
        }
        guard isMember else { return nil }
        return
            "'\(name)' is not a column, and rows have only columns; mark it '@Derived' too, or write a static "
            + "function that takes the values as arguments"
    }
}

/// The members that code refers to implicitly: bare names, and names after `self`.
private final class References: SyntaxVisitor {
    private(set) var names: [TokenSyntax] = []
    private var locals: Set<String> = []

    init(in code: some SyntaxProtocol) {
        super.init(viewMode: .sourceAccurate)
        walk(code)
        names.removeAll { locals.contains($0.text) }
    }

    override func visit(_ node: DeclReferenceExprSyntax) -> SyntaxVisitorContinueKind {
        if let access = node.parent?.as(MemberAccessExprSyntax.self), access.declName.id == node.id {
            guard access.base?.trimmedDescription == "self" else { return .visitChildren }
        }
        names.append(node.baseName)
        return .visitChildren
    }

    override func visit(_ node: IdentifierPatternSyntax) -> SyntaxVisitorContinueKind {
        locals.insert(node.identifier.text)
        return .visitChildren
    }

    override func visit(_ node: ClosureShorthandParameterSyntax) -> SyntaxVisitorContinueKind {
        locals.insert(node.name.text)
        return .visitChildren
    }
}
