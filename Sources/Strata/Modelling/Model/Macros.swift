/// Makes a final class a model: its objects live in contexts, its values in a table.
///
/// The macro generates typed storage (`Row`), column expressions for queries, a memberwise initialiser and the
/// accessors of the properties. A `Many` property is a to-many relationship, and an optional model is a to-one
/// relationship. Every other property is an attribute, whose type is an ``AttributeValue``.
///
/// - Parameters:
///   - options: compound unique constraints and indexes, by names of properties.
///   - table: the name of the table; by default the name of the class.
///   - originalName: the name of the class in stores of earlier versions, whose objects and ids the class takes over.
@attached(
    member,
    names: named(Row),
    named(Columns),
    named(columns),
    named(init),
    named(_$row),
    named(_$link),
    named(_$state),
    named(_$schema),
    named(snapshot),
    named(id)
)
@attached(memberAttribute)
@attached(extension, conformances: Model)
public macro Model(_ options: ModelOption..., table: String? = nil, originalName: String? = nil) =
    #externalMacro(module: "StrataMacros", type: "ModelMacro")

/// A class that conflicts with the superclass of a model, so that a model with a superclass does not compile.
///
/// The expansion of `@Model` combines this class with the model's inheritance clause. A model cannot have a superclass,
/// because its storage is one row. Use a protocol to share code.
@_documentation(visibility: internal)
public class ModelWithoutSuperclass {
    init() {}
}

/// Options of an attribute, or of a to-one relationship that does not declare an inverse itself.
///
/// `originalName` is the name of the property in stores of earlier versions, whose values the property takes over.
@attached(peer)
public macro Attribute(_ options: AttributeOption..., originalName: String? = nil) =
    #externalMacro(module: "StrataMacros", type: "AttributeMacro")

/// Options of a relationship. Only one side names the inverse.
///
/// `originalName` is the name of the property in stores of earlier versions, whose members the property takes over.
@attached(peer)
public macro Relationship(
    _ options: AttributeOption...,
    deleteRule: DeleteRule = .nullify,
    inverse: AnyKeyPath? = nil,
    ordered: Bool = false,
    originalName: String? = nil
) = #externalMacro(module: "StrataMacros", type: "RelationshipMacro")

/// An attribute that every save of its object calculates from other attributes.
///
/// ```swift
/// @Derived(.indexed) var fullName: String { "\(first) \(last)" }
/// ```
///
/// The attribute is a column: queries can filter and sort by it, and it may be unique or indexed. The object itself
/// calculates the value at each read, so the object never shows an outdated value. The calculation may use attributes
/// of its object, and may check whether to-one relationships are nil. It must not use values that change by themselves,
/// because the store keeps the value from the time of the save.
@attached(peer)
public macro Derived(_ options: AttributeOption...) =
    #externalMacro(module: "StrataMacros", type: "DerivedMacro")

/// A property outside of the model: neither stored nor part of `Row`.
@attached(peer)
public macro Transient() = #externalMacro(module: "StrataMacros", type: "TransientMacro")

/// The accessors of a property. Added by `@Model`; not for use by hand.
@attached(accessor)
public macro _ModelProperty(_ column: Int) = #externalMacro(module: "StrataMacros", type: "PropertyMacro")
