import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// An error message that names the mistake in a declaration, and what to write instead.
struct ModelMessage: DiagnosticMessage {
    let id: String
    let message: String

    var diagnosticID: MessageID { MessageID(domain: "Strata", id: id) }
    var severity: DiagnosticSeverity { .error }
}

/// An edit that fixes the error.
struct ModelFixIt: FixItMessage {
    let message: String

    var fixItID: MessageID { MessageID(domain: "Strata", id: "fixit") }
}

extension MacroExpansionContext {
    /// Reports an error at a location in the user's code.
    func report(_ id: String, at node: some SyntaxProtocol, _ message: String, fixIt: FixIt? = nil) {
        diagnose(
            Diagnostic(
                node: Syntax(node),
                message: ModelMessage(id: id, message: message),
                fixIts: fixIt.map { [$0] } ?? []
            )
        )
    }
}

extension FixIt {
    /// Replaces a part of the code by other text, and keeps the whitespace around it.
    static func replace(_ node: some SyntaxProtocol, with text: String, _ message: String) -> FixIt {
        let new = TokenSyntax(
            .identifier(text),
            leadingTrivia: node.leadingTrivia,
            trailingTrivia: node.trailingTrivia,
            presence: .present
        )
        return FixIt(
            message: ModelFixIt(message: message),
            changes: [.replace(oldNode: Syntax(node), newNode: Syntax(new))]
        )
    }

    /// Replaces a type.
    static func replace(_ type: TypeSyntax, with text: String) -> FixIt { replace(type, with: text, "write '\(text)'") }

    /// Removes a type from an inheritance clause.
    static func remove(_ inherited: InheritedTypeSyntax, from clause: InheritanceClauseSyntax) -> FixIt {
        // `filter` would create a list of copies with other ids.
        let others = clause.inheritedTypes.compactMap { $0.id == inherited.id ? nil : $0.type.trimmedDescription }
        let rest = others.isEmpty ? "" : ": " + others.joined(separator: ", ")
        return replace(clause, with: rest, "remove '\(inherited.type.trimmedDescription)'")
    }

    /// Removes an attribute.
    static func remove(_ attribute: AttributeSyntax) -> FixIt {
        // Text that follows on the same line moves to the attribute's position.
        let next = attribute.nextToken(viewMode: .sourceAccurate)
        let isAlone = next?.leadingTrivia.contains(where: \.isNewline) ?? false
        let rest = TokenSyntax(
            .identifier(""),
            leadingTrivia: isAlone ? [] : attribute.leadingTrivia,
            presence: .present
        )
        return FixIt(
            message: ModelFixIt(message: "remove '@\(attribute.attributeName.trimmedDescription)'"),
            changes: [.replace(oldNode: Syntax(attribute), newNode: Syntax(rest))]
        )
    }
}
