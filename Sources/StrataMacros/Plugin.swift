import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main struct StrataPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        ModelMacro.self, PropertyMacro.self, AttributeMacro.self, RelationshipMacro.self, TransientMacro.self,
        DerivedMacro.self,
    ]
}
