import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main struct StrataPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = []
}
