import SwiftSyntax
import SwiftSyntaxMacros

/// A macro that only marks a property for `@Model` to read, and expands to nothing.
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
