import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Reports options of `@Attribute` and `@Relationship` that contradict the property's type.
struct RelationshipChecks {
    let property: Property
    let context: any MacroExpansionContext

    func run() {
        if let attribute = property.attribute { check(attribute: attribute) }
        if let relationship = property.relationship { check(relationship: relationship) }
        for options in [property.attribute, property.relationship].compactMap(\.self) {
            checkOriginalName(options)
            checkTimestamps(options)
            checkSubjects(options)
        }
        if let attribute = property.attribute {
            checkExternalStorage(attribute)
            checkTransformer(attribute)
        }
        if property.type.isMany { checkMany() }
    }

    private func checkOriginalName(_ options: PropertyOptions) {
        guard let name = options.originalName else { return }
        if let text = name.as(StringLiteralExprSyntax.self)?.representedLiteralValue,
            let reason = ReservedNames.objection(toTable: text)
        {
            context.report("originalName", at: name, "a property cannot have had the name '\(text)': \(reason)")
        }
        if property.kind == .derived {
            context.report(
                "originalName",
                at: name,
                "the column of this relationship is on the other side; write 'originalName' there"
            )
        }
    }

    private func check(attribute: PropertyOptions) {
        guard property.kind != .column else { return }
        context.report(
            "attribute",
            at: attribute.syntax,
            "'@Attribute' applies to columns, and this relationship has no column in this model; use '@Relationship'",
            fixIt: .remove(attribute.syntax)
        )
    }

    private func check(relationship: PropertyOptions) {
        if property.type.isWellKnown {
            context.report(
                "relationship",
                at: relationship.syntax,
                "'\(property.type.text)' is not a model, so this is not a relationship; use '@Attribute'"
            )
            return
        }
        if case .plain = property.type.shape {
            context.report(
                "optional",
                at: property.type.syntax,
                "a to-one relationship must be optional, because its object can be deleted; write "
                    + "'\(property.type.text)?', with '.required' if it must be set when saved",
                fixIt: .replace(property.type.syntax, with: property.type.text + "?")
            )
            return
        }
        if property.kind != .column, let option = relationship.options.first {
            context.report(
                "option",
                at: option,
                "this option applies to a column, and this side of the relationship has none; move it to the other side"
            )
        }
        if !property.type.isMany, let ordered = relationship.ordered, ordered.trimmedDescription == "true" {
            context.report("ordered", at: ordered, "only a to-many relationship has an order; remove 'ordered: true'")
        }
        if let inverse = relationship.inverse { check(inverse: inverse) }
    }

    private func check(inverse: ExprSyntax) {
        let destination = property.type.destination?.trimmedDescription ?? "Other"
        guard let path = InverseKeyPath(inverse) else {
            context.report(
                "inverse",
                at: inverse,
                "the macro reads the inverse as text; write it as a key path to a property, '\\\(destination).name'"
            )
            return
        }
        guard path.isOneProperty else {
            context.report(
                "inverse",
                at: inverse,
                "an inverse is one property of the other model; write '\\\(destination).name', with one component"
            )
            return
        }
        guard path.hasRoot else {
            let text = "\\\(destination).\(path.property)"
            context.report(
                "inverse",
                at: inverse,
                "the key path of an inverse names its model; write '\(text)'",
                fixIt: FixIt(
                    message: ModelFixIt(message: "write '\(text)'"),
                    changes: [.replace(oldNode: Syntax(inverse), newNode: Syntax(ExprSyntax("\(raw: text)")))]
                )
            )
            return
        }
    }

    private func checkTimestamps(_ options: PropertyOptions) {
        for name in ["createdAt", "updatedAt"] {
            guard let option = options.option(named: name) else { continue }
            if case .optional(let wrapped) = property.type.shape, wrapped.isDate { continue }
            let isDate = property.type.syntax.isDate
            context.report(
                "timestamp",
                at: option,
                "'.\(name)' needs a 'Date?', which is nil until the first save"
                    + (isDate ? "; write '\(property.type.text)?'" : "; declare the property as 'Date?'"),
                fixIt: isDate ? .replace(property.type.syntax, with: property.type.text + "?") : nil
            )
        }
    }

    /// Reports text checks on numbers, and number checks on texts.
    private func checkSubjects(_ options: PropertyOptions) {
        guard property.transformer == nil, let content = property.type.content else { return }
        for (name, subject) in [("notEmpty", TypeContent.texts), ("length", .texts), ("range", .numbers)]
        where subject != content {
            guard let option = options.option(named: name) else { continue }
            context.report(
                "subject",
                at: option,
                "'.\(name)' is for \(subject), and '\(property.type.text)' does not hold \(subject); remove it, or "
                    + "write a '.check'"
            )
        }
    }

    /// The transformer is part of generated types, so the macro must be able to read it.
    private func checkTransformer(_ attribute: PropertyOptions) {
        guard let option = attribute.option(named: "transformed") else { return }
        guard property.transformer != nil else {
            context.report(
                "transformer",
                at: option,
                "the macro reads the transformer as text; write its type, '.transformed(by: MyTransformer.self)'"
            )
            return
        }
        for name in ["createdAt", "updatedAt"] {
            guard let stamp = attribute.option(named: name) else { continue }
            context.report("transformer", at: stamp, "a timestamp cannot be transformed; remove one of the two options")
        }
    }

    /// Bytes outside of the row can be neither validated nor queried.
    private func checkExternalStorage(_ attribute: PropertyOptions) {
        guard let external = attribute.option(named: "externalStorage") else { return }
        guard property.isExternal else {
            context.report(
                "external",
                at: external,
                "'.externalStorage' needs 'Data' or 'Data?'; remove it, or declare the property as 'Data?'"
            )
            return
        }
        for option in attribute.options
        where !["externalStorage", "required", "originalName"].contains(PropertyOptions.name(of: option)) {
            context.report(
                "external",
                at: option,
                "this option needs the value in the row, and '.externalStorage' stores it outside; remove one of them"
            )
        }
    }

    /// A to-many relationship is a handle that is created at each access.
    private func checkMany() {
        if let value = property.declaration.bindings.first?.initializer {
            context.report(
                "many",
                at: value,
                "a to-many relationship begins empty and cannot have a default value; remove this"
            )
        }
        if let modifier = property.declaration.modifiers.first(where: { $0.detail != nil }) {
            context.report(
                "many",
                at: modifier,
                "a to-many relationship has no setter, because its objects are inserted and removed one by one; "
                    + "remove '\(modifier.trimmedDescription)'"
            )
        }
    }
}
