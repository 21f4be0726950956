/// The life cycle hooks and validations of a model. Created by code that `@Model` generates.
///
/// To declare a hook, a model contains a method with the hook's name, in the class or in an extension in its module.
/// Otherwise, the name refers to the placeholder method that every model has and that returns a ``NoHook``. The return
/// type lets the compiler distinguish the two, so a hook that a model does not declare is never called.
@_documentation(visibility: internal)
public struct ModelHooks: Sendable {
    let willInsert: ObjectHook
    let willUpdate: ObjectHook
    let willDelete: ObjectHook
    let didFetch: ObjectHook
    let validate: ObjectValidation
    let validateDelete: ObjectValidation
    let validateRow: RowValidation

    /// The hooks of a model; none by default.
    public init(
        willInsert: ObjectHook = ObjectHook(),
        willUpdate: ObjectHook = ObjectHook(),
        willDelete: ObjectHook = ObjectHook(),
        didFetch: ObjectHook = ObjectHook(),
        validate: ObjectValidation = ObjectValidation(),
        validateDelete: ObjectValidation = ObjectValidation(),
        validateRow: RowValidation = RowValidation()
    ) {
        self.willInsert = willInsert
        self.willUpdate = willUpdate
        self.willDelete = willDelete
        self.didFetch = didFetch
        self.validate = validate
        self.validateDelete = validateDelete
        self.validateRow = validateRow
    }

    /// Whether a save has hooks to run.
    var runBeforeSave: Bool { willInsert.run != nil || willUpdate.run != nil }

    /// Whether a save has objects to validate.
    var validateBeforeSave: Bool { validate.run != nil || validateDelete.run != nil }
}

/// A method that is called at a certain moment in the life of an object.
@_documentation(visibility: internal)
public struct ObjectHook: Sendable {
    /// Called with an object of the model.
    let run: (@Sendable (AnyObject, ObjectContext) throws -> Void)?

    /// No method.
    public init() { run = nil }

    private init(_ run: @escaping @Sendable (AnyObject, ObjectContext) throws -> Void) { self.run = run }

    /// A hook that the model declares.
    public static func _$hook<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext) throws -> Void
    ) -> ObjectHook {
        // Called only with objects of this model, whose schema contains this hook.
        ObjectHook { try method(unsafeDowncast($0, to: Object.self))($1) }
    }

    /// A hook that the model does not declare.
    public static func _$hook<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext) -> NoHook
    ) -> ObjectHook { ObjectHook() }

    /// A hook that cannot throw.
    public static func _$calm<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext) -> Void
    ) -> ObjectHook {
        ObjectHook { method(unsafeDowncast($0, to: Object.self))($1) }
    }

    /// A hook that the model does not declare.
    public static func _$calm<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext) -> NoHook
    ) -> ObjectHook { ObjectHook() }

    // A method with the name of a hook but another signature, which the macro does not see.

    /// Warns about the wrong signature.
    @available(
        *,
        deprecated,
        message: """
            this model has a method with the name of a hook but another signature, so it is not called; write \
            'func willInsert(in context: ObjectContext) throws', and declare willUpdate in the same way
            """
    )
    public static func _$hook<Method>(_ method: Method) -> ObjectHook { ObjectHook() }

    /// Warns about the wrong signature.
    @available(
        *,
        deprecated,
        message: """
            this model has a method with the name of a hook but another signature, so it is not called; write \
            'func willDelete(in context: ObjectContext)', and declare didFetch in the same way; neither throws
            """
    )
    public static func _$calm<Method>(_ method: Method) -> ObjectHook { ObjectHook() }
}

/// A method that checks an object and has access to its context.
@_documentation(visibility: internal)
public struct ObjectValidation: Sendable {
    /// Called with an object of the model; returns the failures of the object.
    let run: (@Sendable (AnyObject, ObjectContext) throws -> [StrataError.Detail])?

    /// No method.
    public init() { run = nil }

    private init(_ run: @escaping @Sendable (AnyObject, ObjectContext) throws -> [StrataError.Detail]) {
        self.run = run
    }

    /// A validation that the model declares.
    public static func _$validation<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext, inout Validation<Object>) throws -> Void
    ) -> ObjectValidation {
        ObjectValidation {
            // Called only with objects of this model, whose schema contains this validation.
            let object = unsafeDowncast($0, to: Object.self)
            var validation = Validation<Object>(number: object.id.rawValue)
            try method(object)($1, &validation)
            return validation.details
        }
    }

    /// A validation that the model does not declare.
    public static func _$validation<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext, inout Validation<Object>) -> NoHook
    ) -> ObjectValidation { ObjectValidation() }

    /// Warns about a method with the name of a validation but another signature, which the macro does not see.
    @available(
        *,
        deprecated,
        message: """
            this model has a method with the name of a validation but another signature, so it is not called; write \
            'func validate(in context: ObjectContext, _ failures: inout Validation<M>) throws' for a model M, and \
            declare validateDelete in the same way
            """
    )
    public static func _$validation<Method>(_ method: Method) -> ObjectValidation { ObjectValidation() }
}

/// Whether a model declares ``Model/validate(_:_:)``. The requirement of the protocol calls the method itself.
@_documentation(visibility: internal)
public struct RowValidation: Sendable {
    let isDeclared: Bool

    /// No method.
    public init() { isDeclared = false }

    private init(isDeclared: Bool) { self.isDeclared = isDeclared }

    /// A validation that the model declares.
    public static func _$rowValidation<Object: Model>(
        _ method: @Sendable (Object.Row, inout Validation<Object>) -> Void
    ) -> RowValidation { RowValidation(isDeclared: true) }

    /// A validation that the model does not declare.
    public static func _$rowValidation<Object: Model>(
        _ method: @Sendable (Object.Row, inout Validation<Object>) -> NoHook
    ) -> RowValidation { RowValidation() }
}

/// The result of the placeholder methods of ``Model`` for hooks that a model does not declare. It carries no
/// information.
@_documentation(visibility: internal)
public struct NoHook: Sendable {}
