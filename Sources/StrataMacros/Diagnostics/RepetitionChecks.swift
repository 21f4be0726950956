import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Reports macros that are attached to a property twice. Only the first one is read.
struct RepetitionChecks {
    let declaration: VariableDeclSyntax
    let context: any MacroExpansionContext

    func run() {
        for name in ["Attribute", "Relationship", "Derived"] {
            guard let first = declaration.attributes.attribute(named: name) else { continue }
            // `filter` would create a list of copies, and a diagnostic at a copy has no location in the source.
            for element in declaration.attributes {
                guard let other = element.as(AttributeSyntax.self), other != first, other.isNamed(name) else {
                    continue
                }
                let merged = Self.merged(first, other)
                context.report(
                    "repetition",
                    at: other,
                    "a property can have only one '@\(name)', with all options; "
                        + (merged.map { "write '\($0)'" } ?? "move these options to the first one"),
                    fixIt: merged.map { .merge(other, into: first, as: $0) }
                )
                // Offers one fix at a time, because each fix rewrites the first attribute.
                break
            }
        }
    }

    /// One attribute with the arguments of both. Nil if both have an argument with the same label.
    private static func merged(_ first: AttributeSyntax, _ other: AttributeSyntax) -> String? {
        let arguments = [first, other].flatMap { attribute in
            attribute.arguments?.as(LabeledExprListSyntax.self)?.map {
                ($0.label?.text, $0.expression.trimmedDescription)
            }
                ?? []
        }
        let labels = arguments.compactMap(\.0)
        guard Set(labels).count == labels.count else { return nil }
        // Arguments in the order of the parameters.
        let order = [nil, "deleteRule", "inverse", "ordered", "originalName"]
        let texts = order.flatMap { label in
            arguments.filter { $0.0 == label }.map { (label.map { "\($0): " } ?? "") + $0.1 }
        }
        return "@\(first.attributeName.trimmedDescription)"
            + (texts.isEmpty ? "" : "(\(texts.joined(separator: ", ")))")
    }
}

extension FixIt {
    /// Removes an attribute, and replaces the attribute that it repeats by `text`.
    fileprivate static func merge(_ attribute: AttributeSyntax, into first: AttributeSyntax, as text: String) -> FixIt {
        let message = "write '\(text)'"
        return FixIt(
            message: ModelFixIt(message: message),
            changes: replace(first, with: text, message).changes + remove(attribute).changes
        )
    }
}
