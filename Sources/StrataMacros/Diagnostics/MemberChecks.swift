import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Checks the members of a model: initialisers, names, hooks, validations, and each property by ``PropertyChecks``.
struct MemberChecks {
    let model: ParsedModel
    let context: any MacroExpansionContext

    func run() {
        for member in model.declaration.memberBlock.members {
            if let initializer = member.decl.as(InitializerDeclSyntax.self) {
                check(initializer)
            } else if let function = member.decl.as(FunctionDeclSyntax.self) {
                check(function)
            } else if let property = member.decl.as(VariableDeclSyntax.self) {
                PropertyChecks(declaration: property, model: model, context: context).run()
            } else if let clause = member.decl.as(IfConfigDeclSyntax.self) {
                check(clause)
            } else if let type = member.decl.asProtocol((any NamedDeclSyntax).self) {
                check(type)
            }
        }
        checkNames()
        checkCount()
    }

    /// The model's storage is one row, which only the generated initialisers can fill.
    private func check(_ initializer: InitializerDeclSyntax) {
        guard !initializer.modifiers.contains(where: { $0.name.tokenKind == .keyword(.convenience) }) else { return }
        context.report(
            "initializer",
            at: initializer.initKeyword,
            "an initialiser of a model must be a convenience initialiser that calls the generated memberwise "
                + "initialiser; write 'convenience init'",
            fixIt: .replace(initializer.initKeyword, with: "convenience init", "add 'convenience'")
        )
    }

    private func check(_ function: FunctionDeclSyntax) {
        HookChecks(function: function, context: context).run()
        ValidationChecks(function: function, model: model, context: context).run()
    }

    /// The macro sees only source text, and cannot know which branch is compiled.
    private func check(_ clause: IfConfigDeclSyntax) {
        for case .decls(let members)? in clause.clauses.map(\.elements) {
            for member in members {
                if let property = member.decl.as(VariableDeclSyntax.self), property.isStoredInModel {
                    context.report(
                        "condition",
                        at: property,
                        "a model's columns cannot depend on conditions; move the property out of '#if' or mark it "
                            + "'@Transient'"
                    )
                } else if let function = member.decl.as(FunctionDeclSyntax.self) {
                    check(function)
                } else if let nested = member.decl.as(IfConfigDeclSyntax.self) {
                    check(nested)
                }
            }
        }
    }

    private func check(_ type: any NamedDeclSyntax) {
        guard ReservedNames.types.contains(type.name.plainText) else { return }
        context.report(
            "typeName",
            at: type.name,
            "every model has a type with the name '\(type.name.plainText)'; choose another name"
        )
    }

    private func checkNames() {
        var seen: [String: String] = [:]
        for property in model.columns {
            let key = ReservedNames.asciiLowercased(property.name)
            if let other = seen[key], other != property.name {
                context.report(
                    "case",
                    at: property.identifier,
                    "'\(property.name)' and '\(other)' differ only in case, and SQLite treats them as one column; "
                        + "choose another name"
                )
            }
            seen[key] = seen[key] ?? property.name
        }
    }

    private func checkCount() {
        guard model.columns.count > Self.columnLimit else { return }
        context.report(
            "columns",
            at: model.declaration.name,
            "a model has at most \(Self.columnLimit) columns, and this one has \(model.columns.count); "
                + "move some to another model or into one Codable attribute"
        )
    }

    /// Must equal `ColumnSet.limit`, which a compiler plug-in cannot access.
    static let columnLimit = 128
}
