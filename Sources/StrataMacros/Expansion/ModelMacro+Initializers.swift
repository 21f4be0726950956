import SwiftSyntax
import SwiftSyntaxBuilder

extension ModelMacro {
    /// Generates `snapshot`: the values of the object, including external data.
    static func snapshot(of model: ParsedModel) -> DeclSyntax {
        let reads = model.externals.map { "_ = self.\($0.text)" }
        let head = "\(model.memberAccess.prefix)var snapshot: Row"
        return "\(raw: SourceText.block(head, ["_$willReadAll()"] + reads + ["return _$row"]))"
    }

    /// Generates the initialiser with which the framework creates objects.
    static func rowInitializer(of model: ParsedModel) -> DeclSyntax {
        let head = "\(model.memberAccess.prefix)init(_$row: Row)"
        return "\(raw: SourceText.block(head, superclassCheck(of: model) + ["self._$row = _$row"]))"
    }

    /// A line that does not compile if the model has a superclass, whose stored properties the generated initialisers
    /// would leave out.
    ///
    /// A superclass is always the first inherited type. The line combines that type with the class
    /// `ModelWithoutSuperclass`, and a composed type may contain at most one class.
    private static func superclassCheck(of model: ParsedModel) -> [String] {
        guard let type = model.declaration.inheritanceClause?.inheritedTypes.first?.type,
            !type.is(AttributedTypeSyntax.self)
        else { return [] }
        return ["typealias _$Superclass = any Strata.ModelWithoutSuperclass & \(type.trimmedDescription)"]
    }

    /// Generates the memberwise initialiser. The storage is one `Row`, so this is the only designated initialiser for
    /// users.
    static func memberwiseInitializer(of model: ParsedModel) -> DeclSyntax {
        let ordered = model.storedColumns + model.properties.filter { $0.kind == .derived }
        let parameters = ordered.filter(\.isParameter)
        let access = parameters.map { model.access(of: $0) }.reduce(model.memberAccess, min)
        let list = parameters.map { property in
            let value = property.defaultValue.map(\.trimmedDescription) ?? (property.type.isOptional ? "nil" : nil)
            return "\(property.text): \(property.type.text)" + (value.map { " = \($0)" } ?? "")
        }
        let values = model.storedColumns.map { ", \(initialValue(of: $0))" }.joined()
        let head = "\(access.prefix)init(\(list.joined(separator: ", ")))"
        return
            "\(raw: SourceText.block(head, ["self._$row = Row(.unassigned\(values))"] + ordered.compactMap(setting)))"
    }

    /// The value that the row is initialised with.
    private static func initialValue(of property: Property) -> String {
        if property.isSetByAccessor { return "nil" }
        let value =
            property.isParameter ? property.text : property.defaultValue?.trimmedDescription ?? "nil"
        return property.isExternal ? "Strata.ExternalData._$wrap(\(value))" : value
    }

    /// The assignment that follows after the row is initialised.
    private static func setting(_ property: Property) -> String? {
        guard property.isSetByAccessor else { return nil }
        guard property.isParameter else {
            return property.defaultValue.map { "self.\(property.text) = \($0.trimmedDescription)" }
        }
        let setting = "self.\(property.text) = \(property.text)"
        return property.kind == .derived ? "if \(property.text) != nil { \(setting) }" : setting
    }
}
