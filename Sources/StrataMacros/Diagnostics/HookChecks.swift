import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Reports methods that have the name of a hook but would never be called. Macros do not see extensions; there, the
/// compiler finds such methods by `ObjectHook`.
struct HookChecks {
    let function: FunctionDeclSyntax
    let context: any MacroExpansionContext

    /// For each hook, whether it may throw.
    private static let hooks = ["willInsert": true, "willUpdate": true, "willDelete": false, "didFetch": false]

    func run() {
        let name = function.name.plainText
        guard let mayThrow = Self.hooks[name], !isHook(mayThrow) else { return }
        context.report(
            "hook",
            at: function.name,
            "'\(name)' is a hook that every model may have; write 'func \(name)(in context: ObjectContext)"
                + (mayThrow ? " throws'" : "', which does not throw") + ", or choose another name"
        )
    }

    private func isHook(_ mayThrow: Bool) -> Bool {
        let signature = function.signature
        guard !function.modifiers.isStatic,
            function.genericParameterClause == nil, signature.parameterClause.parameters.count == 1,
            let parameter = signature.parameterClause.parameters.first, parameter.firstName.text == "in",
            ["ObjectContext", "Strata.ObjectContext"].contains(parameter.type.trimmedDescription),
            signature.effectSpecifiers?.asyncSpecifier == nil,
            mayThrow || signature.effectSpecifiers?.throwsClause == nil
        else { return false }
        return signature.returnClause.map { ["Void", "()"].contains($0.type.trimmedDescription) } ?? true
    }
}
