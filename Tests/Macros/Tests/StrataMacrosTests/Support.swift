import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import TestedMacros

let macroSpecs: [String: MacroSpec] = [
    "Model": MacroSpec(type: ModelMacro.self, conformances: ["Model"]),
    "_ModelProperty": MacroSpec(type: PropertyMacro.self),
    "Attribute": MacroSpec(type: AttributeMacro.self),
    "Relationship": MacroSpec(type: RelationshipMacro.self),
    "Transient": MacroSpec(type: TransientMacro.self),
    "Derived": MacroSpec(type: DerivedMacro.self),
]

/// Asserts the full text of an expansion, and that there are no diagnostics.
func expectExpansion(_ source: String, _ expanded: String, _ location: Testing.SourceLocation = #_sourceLocation) {
    assertMacroExpansion(source, expandedSource: expanded, macroSpecs: macroSpecs) { failure in
        Issue.record("\(failure.message)", sourceLocation: location)
    }
}

/// A wrong declaration, and the diagnostic that the macro must report.
struct WrongDeclaration: Sendable, CustomTestStringConvertible {
    let rule: String
    let source: String
    /// The source text at which the diagnostic is placed.
    let place: String
    /// A part of the message: what to write instead.
    let advice: String
    /// The source after the fix-it; nil if the diagnostic does not have one.
    let fixed: String?

    init(_ rule: String, _ source: String, at place: String, _ advice: String, fixed: String? = nil) {
        self.rule = rule
        self.source = source
        self.place = place
        self.advice = advice
        self.fixed = fixed
    }

    /// A wrong property in an otherwise correct model.
    init(_ rule: String, property: String, at place: String, _ advice: String, fixed: String? = nil) {
        self.init(
            rule,
            Self.model(with: property),
            at: place,
            advice,
            fixed: fixed.map { Self.model(with: $0) }
        )
    }

    static func model(with member: String) -> String {
        "@Model final class Article {\n    var slug: String\n    \(member)\n}"
    }

    var testDescription: String { rule }

    /// Asserts that the macro reports only the expected diagnostic, and that the fixed source is correct.
    func check() {
        let found = Diagnosis(of: source)
        #expect(found.diagnostics.map(\.node.trimmedDescription) == [place])
        for diagnostic in found.diagnostics {
            #expect(diagnostic.message.contains(advice), "\(diagnostic.message)")
            #expect(diagnostic.diagMessage.severity == .error)
            // A node of a copy does not have a position in the source, so the compiler would report <unknown>.
            let root = diagnostic.node.root
            #expect(root.is(DeclSyntax.self) || root.is(AttributeSyntax.self), "\(root.kind)")
        }
        #expect(found.fixed == fixed)
        if let fixed { #expect(Diagnosis(of: fixed).diagnostics.map(\.message) == []) }
    }
}

/// The diagnostics of the macro for a source.
struct Diagnosis {
    let diagnostics: [Diagnostic]
    /// The source with all fix-its applied; nil if there are none.
    let fixed: String?

    init(of source: String) {
        let file = Parser.parse(source: source)
        let context = BasicMacroExpansionContext(
            sourceFiles: [file: .init(moduleName: "Test", fullFilePath: "Test.swift")]
        )
        _ = file.expand(macroSpecs: macroSpecs) { node in
            BasicMacroExpansionContext(sharingWith: context, lexicalContext: node.allMacroLexicalContexts())
        }
        diagnostics = context.diagnostics
        let edits = diagnostics.flatMap(\.fixIts).flatMap(\.changes).map {
            change -> (range: Range<Int>, text: String) in
            guard case .replace(let old, let new) = change else { fatalError("only replacements are made") }
            let offsets = [old.position, old.endPosition].map {
                context.location(for: $0, anchoredAt: old, fileName: "Test.swift").offset
            }
            return (offsets[0]..<offsets[1], new.description)
        }
        var text = Array(source.utf8)
        // Edits are applied from the end, so that the offsets of earlier edits stay right.
        for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            text.replaceSubrange(edit.range, with: edit.text.utf8)
        }
        fixed = edits.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
}
