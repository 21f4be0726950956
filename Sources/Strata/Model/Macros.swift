/// Makes a final class a model: its objects live in contexts, its values in a table.
///
/// The macro generates typed storage (`Row`), column expressions for queries, a memberwise initialiser and the
/// accessors of the properties. `Many` properties are to-many relationships, optional models to-one relationships,
/// everything else is an attribute, whose type is an ``AttributeValue``.
///
/// - Parameters:
///   - options: compound unique constraints and indexes, by names of properties.
///   - table: the name of the table; by default the name of the class.
///   - originalName: the name that the class had in stores of earlier versions, whose objects and ids it takes over.
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

/// The class that the expansion of `@Model` combines with what a model inherits from, so that a superclass does not compile.
///
/// A model has no superclass, since its storage is one row. Share code by a protocol.
public class ModelWithoutSuperclass {
    init() {}
}

/// Options of an attribute, or of a to-one relationship without an inverse of its own.
///
/// `originalName` is the name that the property had in stores of earlier versions, whose values it takes over.
@attached(peer)
public macro Attribute(_ options: AttributeOption..., originalName: String? = nil) =
    #externalMacro(module: "StrataMacros", type: "AttributeMacro")

/// Options of a relationship. The inverse is named on one side only.
///
/// `originalName` is the name that the property had in stores of earlier versions, whose members it takes over.
@attached(peer)
public macro Relationship(
    _ options: AttributeOption...,
    deleteRule: DeleteRule = .nullify,
    inverse: AnyKeyPath? = nil,
    ordered: Bool = false,
    originalName: String? = nil
) = #externalMacro(module: "StrataMacros", type: "RelationshipMacro")

/// An attribute that is calculated from others of the same object whenever that is saved.
///
/// ```swift
/// @Derived(.indexed) var fullName: String { "\(first) \(last)" }
/// ```
///
/// It is a column: queries find and sort by it, and it may be unique or indexed. The object itself calculates it when it is
/// read, so that it is never behind. It uses attributes and to-one relationships of its object, these as nil or not, and
/// nothing that changes by itself: what is stored is what it was when the object was saved.
@attached(peer)
public macro Derived(_ options: AttributeOption...) =
    #externalMacro(module: "StrataMacros", type: "DerivedMacro")

/// A property that is kept outside of the model: neither stored nor part of `Row`.
@attached(peer)
public macro Transient() = #externalMacro(module: "StrataMacros", type: "TransientMacro")

/// The accessors of a property. Added by `@Model`; not for use by hand.
@attached(accessor)
public macro _ModelProperty(_ column: Int) = #externalMacro(module: "StrataMacros", type: "PropertyMacro")
