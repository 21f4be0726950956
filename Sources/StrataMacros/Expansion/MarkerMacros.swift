import SwiftSyntax
import SwiftSyntaxMacros

/// A macro that marks a property for `@Model`, and expands to nothing.
protocol MarkerMacro: PeerMacro {}

extension MarkerMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] { [] }
}

enum AttributeMacro: MarkerMacro {}
enum RelationshipMacro: MarkerMacro {}
enum TransientMacro: MarkerMacro {}
enum DerivedMacro: MarkerMacro {}
